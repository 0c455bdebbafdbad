// Reading tries by keyboard: j and k walk through what is on the page, [ and ] to its neighbours, g up.
// On a group's page <group-review> walks itself, and u takes the last score back.

import { isTyping } from "./typing.js";

const inGroup = () => document.querySelector("group-review") !== null;

function walk(direction) {
  const stops = [...document.querySelectorAll(".transcript > .turn")];
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
  if (event.key === "[") follow('a[rel="prev"]');
  else if (event.key === "]") follow('a[rel="next"]');
  else if (event.key === "g") follow('a[rel="up"]', ".crumbs li:nth-child(2) a");
  else if (event.key === "Enter" && event.target.matches?.("[data-opens-page]")) location.assign(event.target.dataset.opensPage);
  else if (inGroup()) return;
  else if (event.key === "j") walk(1);
  else if (event.key === "k") walk(-1);
  else if (event.key === "u") follow('a[rel="up"]');
});

// A link to a message shows it even where things scroll sideways.
if (location.hash && !inGroup()) document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: "nearest", inline: "center" });
