// The page of a try: its views by number or arrow key, links to messages, and toggles that are remembered.

import { isTyping } from "./typing.js";

const tabs = [...document.querySelectorAll(".try-views a")];

document.querySelector(".try-views")?.addEventListener("keydown", (event) => {
  const here = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (here < 0 || to === undefined) return;
  event.preventDefault();
  tabs[(to + tabs.length) % tabs.length].focus();
});

document.addEventListener("keydown", (event) => {
  if (isTyping(event) || document.querySelector("dialog[open]")) return;
  if (/^[1-9]$/.test(event.key)) tabs[Number(event.key) - 1]?.click();
});

for (const box of document.querySelectorAll("[data-kept]")) {
  const key = `artweb.${box.id}`;
  box.checked = sessionStorage.getItem(key) === "yes";
  box.addEventListener("change", () => sessionStorage.setItem(key, box.checked ? "yes" : ""));
}

for (const button of document.querySelectorAll("[data-copies-link]")) button.hidden = !navigator.clipboard;

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copies-link]");
  if (!button || button.dataset.busy) return;
  const link = new URL(button.dataset.copiesLink, location.href.replace(/[?#].*$/, ""));
  try {
    await navigator.clipboard.writeText(link.href);
  } catch {
    location.hash = button.dataset.copiesLink; // not allowed to: the address bar has it then
    return;
  }
  const words = button.textContent;
  button.dataset.busy = "yes";
  button.textContent = button.dataset.copied;
  setTimeout(() => {
    button.textContent = words;
    delete button.dataset.busy;
  }, 1500);
});
