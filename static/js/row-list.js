// <row-list>: rows of inputs that are added from a <template>, removed, put back and moved up.

let fresh = Date.now() % 100000; // numbers that no row from the server has

class RowList extends HTMLElement {
  connectedCallback() {
    this.addEventListener("click", this);
  }

  disconnectedCallback() {
    this.removeEventListener("click", this);
  }

  handleEvent(event) {
    const button = event.target.closest("button");
    if (!button) return;
    if ("add" in button.dataset) this.add();
    else if ("remove" in button.dataset) this.remove_(button.closest(".list-row"));
    else if ("up" in button.dataset) this.up(button.closest(".list-row"), button);
    else if ("undoRow" in button.dataset) this.putBack();
  }

  get list() {
    return this.querySelector(":scope > ol");
  }

  add() {
    const row = this.querySelector(":scope > template").content.firstElementChild.cloneNode(true);
    fresh += 1;
    for (const part of row.querySelectorAll("[id], [name], [for]")) {
      for (const name of ["id", "name", "for"]) {
        if (part.hasAttribute(name)) part.setAttribute(name, part.getAttribute(name).replace("__n__", fresh));
      }
    }
    this.list.append(row);
    row.querySelector("input, textarea, select").focus();
    this.changed();
  }

  remove_(row) {
    this.removed = { row, before: row.nextElementSibling };
    const near = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (near?.querySelector("[data-remove]") ?? this.querySelector("[data-add]")).focus();
    this.say(this.dataset.removed, false);
    this.changed();
  }

  putBack() {
    const { row, before } = this.removed;
    this.list.insertBefore(row, before?.parentNode === this.list ? before : null);
    row.querySelector("input, textarea, select").focus();
    this.say("", true);
    this.changed();
  }

  up(row, button) {
    const above = row.previousElementSibling;
    if (!above) return;
    above.before(row);
    button.focus();
    this.changed();
  }

  say(words, over) {
    this.querySelector("[data-said]").textContent = words;
    this.querySelector("[data-undo-row]").hidden = over;
  }

  /** Whoever saves the form by itself looks at it again. */
  changed() {
    this.dispatchEvent(new Event("change", { bubbles: true }));
  }
}
customElements.define("row-list", RowList);
