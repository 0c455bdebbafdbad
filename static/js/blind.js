// Two tries judged blind: one key is one answer. A key that is held down answers once.

import { isTyping } from "./typing.js";

const KEYS = { 1: "left", ArrowLeft: "left", 0: "tie", "=": "tie", 2: "right", ArrowRight: "right", s: "skip", u: "undo" };

document.addEventListener("keydown", (event) => {
  if (event.repeat || isTyping(event)) return;
  const button = document.querySelector(`[data-answers="${KEYS[event.key]}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
});
