// <learner-charts>: small charts of the learner, all drawn from the rows of the one table it holds.

import { axis, colour, lonely, onOtherScheme } from "./chart-colours.js";

const SYNC = "learner";

const WRITE = {
  share: (value) => `${Math.round(value * 1000) / 10} %`,
  seconds: (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} s`,
  count: (value) => Math.round(value).toLocaleString("en"),
  number: (value) => (Math.abs(value) >= 0.1 || value === 0 ? value.toFixed(2) : value.toPrecision(2)),
};

/** For axes: 12000 -> "12k", 0.25 -> "25 %". */
function tick(unit, value) {
  if (unit === "share") return `${Math.round(value * 100)} %`;
  if (Math.abs(value) >= 10_000) return `${value / 1000}k`;
  return String(Math.round(value * 1e6) / 1e6);
}

class SmallChart {
  constructor(figure, host) {
    this.figure = figure;
    this.host = host;
    this.box = figure.querySelector(".small-chart-box");
    this.keys = [...figure.querySelectorAll("[data-line]")];
    this.unit = figure.dataset.unit;
    this.kind = figure.dataset.kind;
    this.plot = null;
    this.seen = false;
    this.place = null;
    this.box.addEventListener("keydown", (event) => this.walk(event));
    this.box.addEventListener("blur", () => this.leave());
  }

  /** `columns` holds a list of values by name, `steps` what they belong to. */
  take(steps, columns) {
    this.steps = steps;
    this.values = this.keys.map((key) => columns.get(key.dataset.line));
    this.figure.toggleAttribute("data-blank", this.values.every((values) => values.every((value) => value === null)));
    if (this.seen) this.draw();
    this.tell(this.place);
  }

  /** Drawn for the first time when somebody may look at it. */
  see() {
    if (this.seen) return;
    this.seen = true;
    this.draw();
  }

  draw() {
    if (!this.steps?.length || !this.box.clientWidth) return;
    const data = [this.steps, ...(this.kind === "stack" ? stacked(this.values) : this.values)];
    if (this.plot) this.plot.setData(data);
    else this.plot = new window.uPlot(this.options(), data, this.box);
  }

  resize() {
    if (this.plot) this.plot.setSize({ width: this.box.clientWidth, height: this.box.clientHeight });
    else if (this.seen) this.draw();
  }

  destroy() {
    this.plot?.destroy();
    this.plot = null;
  }

  options() {
    return {
      width: this.box.clientWidth,
      height: this.box.clientHeight,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: SYNC } },
      scales: {
        x: { time: false, range: (plot, low, high) => [Math.min(1, low), Math.max(high, low + 4)] },
        y: { range: (plot, low, high) => this.range(low, high) },
      },
      axes: [
        axis(this.host, { size: 22, space: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000] }),
        axis(this.host, { size: 44, space: 28, values: (plot, ticks) => ticks.map((value) => tick(this.unit, value)) }),
      ],
      series: [{}, ...this.keys.map((key, at) => this.series(key.dataset.colour, this.kind === "stack" && at === 0))],
      bands: this.bands(),
      hooks: { setCursor: [(plot) => this.pointed(plot.cursor.idx)], ready: [(plot) => this.openOnClick(plot)] },
    };
  }

  series(name, lowest) {
    const ink = colour(this.host, name);
    return {
      stroke: ink,
      width: this.kind === "lines" ? 2 : 1,
      fill: lowest ? colour(this.host, name, 0.45) : undefined,
      spanGaps: false,
      points: { show: true, size: 5, fill: ink, filter: lonely },
    };
  }

  bands() {
    if (this.kind === "band") return [{ series: [3, 1], fill: colour(this.host, "idle", 0.22) }];
    if (this.kind !== "stack") return [];
    const fills = this.keys.map((key) => colour(this.host, key.dataset.colour, 0.45));
    return fills.slice(1).map((fill, at) => ({ series: [at + 2, at + 1], fill }));
  }

  range(low, high) {
    const { low: least = low, high: most = high } = this.figure.dataset;
    const bottom = Math.min(low ?? Number(least), Number(least));
    const top = Math.max(high ?? Number(most), Number(most));
    const room = (top - bottom || Math.abs(top) || 1) * 0.06;
    const share = this.unit === "share" && top <= 1 && top + room > 1;
    return [bottom === 0 ? 0 : bottom - room, share ? 1 : top + room];
  }

  leave() {
    this.host.each((chart) => chart.tell(null));
    this.plot?.setCursor({ left: -10, top: -10 }, true, true);
  }

  /** A chart that is drawn anew has no cursor; whoever walks it with the keys keeps their place. */
  pointed(place) {
    if (place != null || document.activeElement !== this.box) this.tell(place);
  }

  /** The values under the cursor, or the newest ones. */
  tell(place) {
    this.place = place ?? null;
    const at = place ?? this.steps.length - 1;
    const told = this.keys.map((key, line) => {
      const value = this.values[line]?.[at];
      const words = value == null ? "–" : WRITE[this.unit](value);
      const shown = key.querySelector("b");
      if (shown.textContent !== words) shown.textContent = words;
      return `${key.querySelector("span").textContent} ${value == null ? this.host.dataset.nothing : words}`;
    });
    this.box.setAttribute("aria-valuemin", this.steps[0] ?? 0);
    this.box.setAttribute("aria-valuemax", this.steps.at(-1) ?? 0);
    this.box.setAttribute("aria-valuenow", this.steps[at] ?? 0);
    this.box.setAttribute("aria-valuetext", `${this.host.dataset.stepWord} ${this.steps[at] ?? 0}: ${told.join(", ")}`);
  }

  /** From a figure to what it is a figure of: the groups of that step. */
  openOnClick(plot) {
    plot.over.addEventListener("click", () => this.open(plot.cursor.idx));
  }

  open(place) {
    if (place != null) location.assign(this.host.dataset.groups + this.steps[place]);
  }

  /** Arrow keys step through the steps, on all charts at once; Enter opens one. */
  walk(event) {
    if (event.key === "Enter") this.open(this.place);
    const last = this.steps.length - 1;
    const here = this.place ?? last;
    const target = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last }[event.key];
    if (target === undefined || last < 0) return;
    event.preventDefault();
    this.see();
    const place = Math.min(last, Math.max(0, target));
    this.host.each((chart) => chart.tell(place));
    if (this.plot?.status) this.plot.setCursor({ left: this.plot.valToPos(this.steps[place], "x"), top: 0 }, true, true);
  }
}

/** Each list on top of those before it; a step of which nothing is known is a gap. */
function stacked(lists) {
  const sums = [];
  return lists.map((values) => values.map((value, at) => {
    if (lists.every((other) => other[at] == null)) return null;
    sums[at] = (sums[at] ?? 0) + (value ?? 0);
    return sums[at];
  }));
}

class LearnerCharts extends HTMLElement {
  connectedCallback() {
    this.rows = this.querySelector("tbody");
    this.names = [...this.querySelectorAll("thead [data-line]")].map((head) => head.dataset.line);
    this.charts = new Map([...this.querySelectorAll(".small-chart")].map((figure) => [figure, new SmallChart(figure, this)]));
    this.rowsObserver = new MutationObserver(() => this.schedule());
    this.rowsObserver.observe(this.rows, { childList: true });
    this.sightObserver = new IntersectionObserver((entries) => this.sight(entries), { rootMargin: "300px" });
    this.sizeObserver = new ResizeObserver(() => this.each((chart) => chart.resize()));
    for (const figure of this.charts.keys()) this.sightObserver.observe(figure);
    this.sizeObserver.observe(this);
    this.forgetScheme = onOtherScheme(() => this.each((chart) => { chart.destroy(); if (chart.seen) chart.draw(); }));
    this.read();
  }

  disconnectedCallback() {
    cancelAnimationFrame(this.scheduled);
    this.rowsObserver.disconnect();
    this.sightObserver.disconnect();
    this.sizeObserver.disconnect();
    this.forgetScheme();
    this.each((chart) => chart.destroy());
  }

  each(act) {
    for (const chart of this.charts.values()) act(chart);
  }

  sight(entries) {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) this.charts.get(target).see();
    }
  }

  schedule() {
    cancelAnimationFrame(this.scheduled);
    this.scheduled = requestAnimationFrame(() => this.read());
  }

  read() {
    const steps = [];
    const columns = new Map(this.names.map((name) => [name, []]));
    for (const { dataset } of this.rows.rows) {
      steps.push(Number(dataset.step));
      const values = dataset.values.split(" ");
      this.names.forEach((name, at) => columns.get(name).push(values[at] === "-" ? null : Number(values[at])));
    }
    this.toggleAttribute("data-empty", steps.length === 0);
    this.each((chart) => chart.take(steps, columns));
  }
}
customElements.define("learner-charts", LearnerCharts);
