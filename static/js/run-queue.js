// <run-queue>: waiting runs that can be dragged to another place. The buttons do the same without a mouse.

class RunQueue extends HTMLElement {
  connectedCallback() {
    this.leaving = new AbortController();
    const listen = (name, what) => this.addEventListener(name, what, { signal: this.leaving.signal });
    listen("dragstart", (event) => this.lift(event));
    listen("dragover", (event) => this.hover(event));
    listen("drop", (event) => this.drop(event));
    listen("dragend", () => this.settle());
  }

  disconnectedCallback() {
    this.leaving.abort();
  }

  lift(event) {
    this.lifted = event.target.closest?.("li[draggable]");
    if (!this.lifted) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", this.lifted.id);
    this.lifted.classList.add("queue-lifted");
  }

  hover(event) {
    if (!this.lifted) return;
    event.preventDefault();
    this.settle(false);
    const over = event.target.closest?.("li");
    if (over && over !== this.lifted) over.classList.add(this.below(over, event) ? "queue-after" : "queue-before");
  }

  drop(event) {
    const over = event.target.closest?.("li");
    const lifted = this.lifted;
    if (!lifted) return;
    event.preventDefault();
    const others = [...this.querySelectorAll("li")].filter((item) => item !== lifted);
    if (over && over !== lifted) {
      const to = others.indexOf(over) + (this.below(over, event) ? 1 : 0);
      const button = lifted.querySelector("button[name=to]");
      button.value = String(to);
      button.form.requestSubmit(button);
    }
    this.settle();
  }

  below(item, event) {
    const box = item.getBoundingClientRect();
    return event.clientY > box.top + box.height / 2;
  }

  settle(over = true) {
    for (const item of this.querySelectorAll(".queue-before, .queue-after")) {
      item.classList.remove("queue-before", "queue-after");
    }
    if (!over) return;
    this.lifted?.classList.remove("queue-lifted");
    this.lifted = null;
  }
}
customElements.define("run-queue", RunQueue);

// A button that can do nothing keeps its focus, so that somebody who moves a run to the front stays there.
document.addEventListener("click", (event) => {
  if (event.target.closest?.(".queue-move[aria-disabled=true]")) event.preventDefault();
});
