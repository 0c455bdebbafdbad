// The page of one tool: what is wrong is marked at its input, and a sentence about it leads there. Saving
// and calling take turns, since a call saves first and each save begins where the last one ended.

const forms = ["tool-form", "console-form"].map((id) => document.getElementById(id));
let busy = null;
let waiting = null;

function takeTurns(event) {
  if (!busy) {
    busy = event.target;
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.target.id === "console-form") waiting = event.target;
}

/** The next in line; a form that saves itself looks by itself whether there is more to save. */
function over(event) {
  if (event.target !== busy) return;
  busy = null;
  const next = waiting;
  waiting = null;
  if (next) setTimeout(() => next.requestSubmit());
}

for (const form of forms) {
  for (const name of ["save", "submit"]) form.addEventListener(name, takeTurns, true);
  for (const name of ["htmx:finally:request", "htmx:abort"]) form.addEventListener(name, over, true);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-problem]");
  const field = link && fieldOf(link);
  if (!field) return;
  event.preventDefault();
  for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  field.focus();
});

/** The input a sentence is about: that of its id, or the first inside what has the id. */
function fieldOf(link) {
  const place = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  return place?.matches("input, select, textarea") ? place : place?.querySelector("input, select, textarea, button");
}

function mark() {
  for (const field of document.querySelectorAll("[aria-invalid][data-marked]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("data-marked");
  }
  for (const link of document.querySelectorAll("[data-problem]")) {
    const field = fieldOf(link);
    field?.setAttribute("aria-invalid", "true");
    field?.setAttribute("data-marked", "");
  }
}

document.addEventListener("htmx:after:swap", mark);
mark();
