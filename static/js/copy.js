// A button with data-copies="ID" copies that element's text and says so, to eyes and ears.

const said = document.createElement("p");
said.className = "sr";
said.setAttribute("role", "status");
document.body.append(said);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button || button.dataset.busy) return;
  const source = document.getElementById(button.dataset.copies);
  try {
    await navigator.clipboard.writeText(source.textContent);
    confirmOn(button);
  } catch {
    getSelection().selectAllChildren(source); // not allowed to: one keystroke is left
  }
});

function confirmOn(button) {
  const words = [...button.childNodes];
  button.dataset.busy = "true";
  button.replaceChildren(button.dataset.copied);
  said.textContent = button.dataset.copied;
  setTimeout(() => {
    button.replaceChildren(...words);
    delete button.dataset.busy;
    said.textContent = "";
  }, 1500);
}
