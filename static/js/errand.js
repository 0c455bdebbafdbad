// An errand that is done leads on: to another page, or to a part of this one that then reloads itself.

/** <errand-done next="/address/ | #element">: acts once, when it appears. An element gets the event
    "errand-done"; give it hx-trigger="errand-done". */
class ErrandDone extends HTMLElement {
  connectedCallback() {
    const next = this.getAttribute("next");
    if (this.acted || !next) return;
    this.acted = true;
    if (next.startsWith("#")) document.querySelector(next)?.dispatchEvent(new CustomEvent("errand-done"));
    else location.assign(next);
  }
}
customElements.define("errand-done", ErrandDone);
