// Reading tries by keyboard: j and k walk through what is on the page, [ and ] to its neighbours.

import { isTyping } from "./typing.js";

const walked = () => [...document.querySelectorAll(".try, .transcript > .turn")].filter(
  (element) => element.matches(".try") || !document.querySelector(".try"),
);

function walk(direction) {
  const stops = walked();
  if (!stops.length) return;
  const here = stops.findIndex((stop) => stop.contains(document.activeElement));
  const next = here < 0 ? 0 : Math.min(stops.length - 1, Math.max(0, here + direction));
  stops[next].tabIndex = 0;
  stops[next].focus({ preventScroll: true });
  stops[next].scrollIntoView({ block: "nearest", inline: "center" });
}

const follow = (...selectors) => selectors.map((selector) => document.querySelector(selector)).find(Boolean)?.click();

document.addEventListener("keydown", (event) => {
  if (isTyping(event) || document.querySelector("dialog[open]")) return;
  if (event.key === "j") walk(1);
  else if (event.key === "k") walk(-1);
  else if (event.key === "[") follow('a[rel="prev"]');
  else if (event.key === "]") follow('a[rel="next"]');
  else if (event.key === "u") follow('a[rel="up"]', ".crumbs li:nth-child(2) a");
  else if (event.key === "Enter" && event.target.matches?.("[data-opens-page]")) location.assign(event.target.dataset.opensPage);
});

// A link to a try (#try-3) shows it even where the tries scroll sideways.
if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: "nearest", inline: "center" });
