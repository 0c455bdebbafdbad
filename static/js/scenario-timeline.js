// A scenario over all steps: choosing the two steps that are compared, by pointer and by keyboard.

import { isTyping } from "./typing.js";

const form = document.getElementById("steps");

/** Show the comparison of these two; the tries chosen before belong to other steps. */
function compare(k, j) {
  location.assign(`?k=${encodeURIComponent(k)}&j=${encodeURIComponent(j)}`);
}

function moved(select, by) {
  const to = select.selectedIndex + by;
  return to >= 0 && to < select.options.length ? select.options[to].value : null;
}

document.querySelector(".timeline-plot")?.addEventListener("click", (event) => {
  const column = event.target.closest("a[data-step]");
  if (!column || !event.shiftKey) return; // without Shift it is a link like any other
  event.preventDefault();
  compare(column.dataset.step, form.elements.j.value);
});

document.addEventListener("keydown", (event) => {
  if (!form || isTyping(event) || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.(".scroll-x")) return;
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "f") document.querySelector("[data-flip]")?.click();
  if (!by) return;
  const { k, j } = form.elements;
  const to = moved(event.shiftKey ? k : j, by);
  if (to === null) return;
  event.preventDefault();
  compare(event.shiftKey ? to : k.value, event.shiftKey ? j.value : to);
});
