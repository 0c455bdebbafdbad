// A form that saves itself: 800 ms after the last key, and when a field is left. It says when it last did,
// and why it could not; what was typed is never taken away. The server decides field by field.

const IDLE = 800;
const AGAIN = 5000;

/** <auto-save data-form="id of a form that htmx posts on the event "save"" data-saving data-unsaved …> */
class AutoSave extends HTMLElement {
  connectedCallback() {
    this.form = document.getElementById(this.dataset.form);
    if (!this.form || this.listening) return;
    this.listening = new AbortController();
    this.saved = this.typed();
    const on = (target, name, act) => target.addEventListener(name, act, { signal: this.listening.signal });
    on(this.form, "input", (event) => this.typing(event));
    on(this.form, "compositionend", (event) => this.typing(event));
    on(this.form, "change", () => this.save());
    on(this.form, "focusout", () => this.save());
    on(this.form, "submit", () => clearTimeout(this.timer));
    on(this.form, "htmx:before:request", (event) => this.sending(event));
    on(this.form, "htmx:after:request", (event) => this.answered(event));
    on(this.form, "htmx:error", (event) => this.silent(event));
    on(this.form, "htmx:after:swap", () => this.settled());
    on(this.form, "htmx:finally:request", (event) => this.over(event));
    on(document, "click", (event) => this.clicked(event));
    on(window, "pagehide", () => this.leaving());
    on(window, "beforeunload", (event) => this.stuck && this.dirty() && event.preventDefault());
    document.documentElement.classList.add("saves-itself");
  }

  disconnectedCallback() {
    this.listening?.abort();
    this.listening = undefined;
    clearTimeout(this.timer);
  }

  /** The fields a person can change, as one text; not what the page has seen, nor its token. */
  typed() {
    const pairs = [...new FormData(this.form)].filter(([name]) => !name.startsWith("was-") && name !== "csrfmiddlewaretoken");
    return JSON.stringify(pairs);
  }

  dirty() {
    return this.typed() !== this.saved;
  }

  typing(event) {
    if (event.isComposing) return;
    if (event.target.dataset.own && event.target.value) document.getElementById(event.target.dataset.own).checked = true;
    clearTimeout(this.timer);
    if (!this.dirty()) return;
    this.say("unsaved", this.dataset.unsaved);
    this.timer = setTimeout(() => this.save(), IDLE);
  }

  /** Not while parts of the page are replaced: a field that goes loses the focus, and both stand there. Nor
   *  while another save is under way: what is typed meanwhile would count as sent. */
  save() {
    clearTimeout(this.timer);
    if (!this.drawing && !this.underWay && this.dirty()) this.form.dispatchEvent(new CustomEvent("save"));
  }

  sending(event) {
    if (event.target !== this.form) return;
    this.underWay = true;
    this.sent = this.typed();
    this.say("saving", this.dataset.saving);
  }

  answered(event) {
    if (event.target !== this.form) return;
    if (/^\s*<!doctype/i.test(event.detail.ctx.text)) {
      event.preventDefault();
      event.stopPropagation(); // the page would be loaded afresh, and what was typed with it
      this.refused(event.detail.ctx.response.status);
      return;
    }
    this.stuck = this.renewed = false;
    this.drawing = true;
    if (this.sent !== this.saved) this.before = this.saved;
    this.saved = this.sent;
  }

  over(event) {
    if (event.target !== this.form) return;
    this.drawing = this.underWay = false;
    if (this.dirty() && !this.stuck) this.timer = setTimeout(() => this.save(), IDLE);
  }

  /** The parts of the page are new: mark what is wrong, offer to undo, keep the focus near. */
  settled() {
    for (const note of this.form.querySelectorAll(".field-note")) {
      const control = document.getElementById(note.id.replace("note-", "f-"));
      control?.toggleAttribute("aria-invalid", false);
      if (control && "error" in note.dataset) control.setAttribute("aria-invalid", "true");
    }
    if (this.near && document.activeElement === document.body) document.getElementById(`f-${this.near}`)?.focus();
    const undo = document.querySelector("#save-state [data-undo]");
    if (undo) undo.hidden = !this.before;
    if (this.dirty()) this.timer = setTimeout(() => this.save(), IDLE);
  }

  silent(event) {
    if (event.target !== this.form) return;
    event.stopPropagation(); // said here, beside the form
    this.fail(this.dataset.silent);
    this.timer = setTimeout(() => this.save(), AGAIN);
  }

  /** A whole page came back: the token is old, the person is signed out, or the server broke. */
  async refused(status) {
    if (this.renewed) return this.fail(status >= 500 ? this.dataset.broken : this.dataset.outside);
    this.renewed = true;
    const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
    const token = page.body.getAttribute("hx-headers:inherited");
    if (!page.getElementById(this.dataset.form)) return this.fail(this.dataset.outside);
    document.body.setAttribute("hx-headers:inherited", token);
    for (const field of document.getElementsByName("csrfmiddlewaretoken")) field.value = JSON.parse(token)["X-CSRFToken"];
    this.form.dispatchEvent(new CustomEvent("save"));
  }

  fail(words) {
    this.stuck = true;
    this.say("failed", words);
    const again = document.querySelector("#save-state [data-again]");
    if (again) again.hidden = false;
  }

  clicked(event) {
    const act = event.target.closest?.("button[name=act]");
    if (act?.form === this.form) this.near = act.value.split(":")[1];
    if (event.target.closest?.("[data-again]")) {
      this.renewed = false;
      this.save();
    }
    if (event.target.closest?.("[data-undo]")) this.undo();
  }

  /** Put back what stood in the form before it was last saved, and save that. */
  undo() {
    const before = new Map(JSON.parse(this.before));
    for (const control of this.form.elements) {
      if (!control.name || control.type === "hidden" || control.type === "submit") continue;
      if (control.type === "radio" || control.type === "checkbox") control.checked = before.get(control.name) === control.value;
      else if (before.has(control.name)) control.value = before.get(control.name);
    }
    this.save();
  }

  /** The page is left within the pause: send what is not saved without waiting for an answer. */
  leaving() {
    if (this.dirty() && !this.stuck) navigator.sendBeacon(this.form.action, new FormData(this.form));
  }

  say(state, words) {
    const says = document.querySelector("#save-state .save-says");
    if (!says) return;
    says.dataset.state = state;
    says.textContent = words;
    says.toggleAttribute("role", false);
    if (state === "failed") says.setAttribute("role", "alert");
  }
}
customElements.define("auto-save", AutoSave);
