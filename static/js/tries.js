// The list of tries by keyboard: j and k walk, Enter opens, [ and ] turn the page, / searches. A form
// leaves out what nobody filled in, so that addresses stay short enough to be read and sent.

import { isTyping } from "./typing.js";

function walk(direction) {
  const links = [...document.querySelectorAll(".try-link")];
  if (!links.length) return;
  const here = links.findIndex((link) => link.closest(".try-row").contains(document.activeElement));
  const next = here < 0 ? 0 : Math.min(links.length - 1, Math.max(0, here + direction));
  links[next].focus({ preventScroll: true });
  links[next].closest(".try-row").scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (isTyping(event) || document.querySelector("dialog[open]")) return;
  if (event.key === "j") walk(1);
  else if (event.key === "k") walk(-1);
  else if (event.key === "[") document.querySelector('a[rel="prev"]')?.click();
  else if (event.key === "]") document.querySelector('a[rel="next"]')?.click();
  else if (event.key === "/") {
    event.preventDefault();
    document.getElementById("f-text").select();
  }
});

const form = document.querySelector(".tries-filters");
form.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) {
    if (!value || (name === "order" && value === "newest")) event.formData.delete(name);
  }
});

// What fields suggest is fetched when somebody begins to fill one in.
form.addEventListener("focusin", async () => {
  const answer = await fetch(form.dataset.names);
  if (answer.ok && !answer.redirected) document.getElementById("tries-names").innerHTML = await answer.text();
}, { once: true });
