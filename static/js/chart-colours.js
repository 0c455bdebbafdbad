// What all charts share: colours as the page has them, axes that keep quiet, and dots for what stands alone.

/** A colour token as the browser computes it: canvases do not know light-dark(). */
export function colour(host, name, alpha = 1) {
  const probe = document.createElement("span");
  probe.className = `probe probe-${name}`;
  host.append(probe);
  const computed = getComputedStyle(probe).color;
  probe.remove();
  const parts = computed.match(/[\d.]+/g).slice(0, 3);
  return `rgb(${parts.join(" ")} / ${alpha})`;
}

export function axis(host, more = {}) {
  return {
    stroke: colour(host, "muted"),
    grid: { stroke: colour(host, "line"), width: 1 },
    ticks: { show: false },
    font: `11px ${getComputedStyle(host).fontFamily}`,
    ...more,
  };
}

/** Only what has no neighbour to be joined to gets a dot of its own. */
export function lonely(plot, series) {
  const values = plot.data[series];
  return values.flatMap((value, at) => (value != null && values[at - 1] == null && values[at + 1] == null ? [at] : []));
}

/** Calls `redraw` when light turns to dark or back; returns what ends that. */
export function onOtherScheme(redraw) {
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", redraw);
  return () => scheme.removeEventListener("change", redraw);
}
