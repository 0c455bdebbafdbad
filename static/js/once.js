// Forms that do something once: a second submit while the first is on its way goes nowhere. The server would
// take both for the same request anyway; this only spares people the wait.

document.addEventListener("submit", (event) => {
  const form = event.target.closest?.("form[data-once]");
  if (!form) return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
  form.setAttribute("aria-busy", "true");
});

// A page that comes back from the browser's memory may be sent again: it asks for the same request.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-once]")) {
    delete form.dataset.sent;
    form.removeAttribute("aria-busy");
  }
});
