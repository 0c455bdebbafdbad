// A file input that takes dropped files and says early what will not be taken. The server checks again.

/** <file-drop data-most="bytes" data-endings=".csv,…" data-large data-kind> around a label and a file input. */
class FileDrop extends HTMLElement {
  connectedCallback() {
    this.input = this.querySelector("input[type=file]");
    this.input.addEventListener("change", () => this.look());
    for (const name of ["dragenter", "dragover"]) this.addEventListener(name, (event) => this.over(event));
    for (const name of ["dragleave", "drop"]) this.addEventListener(name, () => this.toggleAttribute("data-over", false));
    this.addEventListener("drop", (event) => this.dropped(event));
  }

  over(event) {
    event.preventDefault();
    this.toggleAttribute("data-over", true);
  }

  dropped(event) {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    this.input.files = event.dataTransfer.files;
    this.look();
  }

  look() {
    const file = this.input.files[0];
    const known = file && this.dataset.endings.split(",").some((ending) => file.name.toLowerCase().endsWith(ending));
    const problem = !file ? "" : !known ? this.dataset.kind : file.size > Number(this.dataset.most) ? this.dataset.large : "";
    this.input.setCustomValidity(problem);
    const says = this.querySelector(".field-error");
    says.textContent = problem;
    says.toggleAttribute("role", false);
    if (problem) says.setAttribute("role", "alert");
  }
}
customElements.define("file-drop", FileDrop);
