// The scenario grid by keyboard: Ctrl+Enter saves a form, Escape leaves it, one box ticks all the others.

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("form[data-leaves-by-escape]");
  if (!form || event.isComposing) return;
  if (event.key === "Escape") {
    event.preventDefault();
    form.querySelector("[data-escape]").click();
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-removes]");
  if (!button) return;
  document.getElementById(button.dataset.removes).remove();
  document.getElementById(button.dataset.returnsTo)?.focus();
});

// Where what had the focus is gone, it goes to what the server marked, or to the line that says what happened.
document.addEventListener("htmx:after:swap", () => {
  const marked = document.querySelector("#studio [autofocus]");
  if (document.activeElement === document.body) (marked ?? document.getElementById("scenario-toast"))?.focus();
  marked?.removeAttribute("autofocus");
});

// One box chooses all there are, also those not shown yet; taking one out ends that.
document.addEventListener("change", (event) => {
  const all = document.querySelector("[data-chooses]");
  if (!all) return;
  if (event.target === all) {
    for (const box of document.getElementsByName(all.dataset.chooses)) box.checked = all.checked;
  } else if (event.target.name === all.dataset.chooses && !event.target.checked) {
    all.checked = false;
  }
});
