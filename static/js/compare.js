// Comparisons: filters act when they are chosen, the report prints, two keys walk from scenario to scenario.

document.addEventListener("change", (event) => {
  event.target.closest?.("form[data-submits]")?.requestSubmit();
});

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-prints]")) window.print();
});

const KEYS = { "[": "a[rel=prev]", "]": "a[rel=next]", u: "a[data-up]" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest?.("input, select, textarea")) return;
  document.querySelector(KEYS[event.key] ?? "#no-such-key")?.click();
});
