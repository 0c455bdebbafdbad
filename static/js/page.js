// What every page has: local times, menus and dialogs that close as people expect, requests that fail.

import { isTyping } from "./typing.js";

const formats = {
  clock: { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false },
  day: { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false },
};

/** <live-clock at="ISO time" mode="clock|day">: the moment in the reader's own time zone.
    It draws into a shadow root, so that morphing the page never puts the server's text back. */
class LiveClock extends HTMLElement {
  static observedAttributes = ["at"];

  connectedCallback() {
    if (!this.shadowRoot) this.attachShadow({ mode: "open" });
    this.draw();
  }

  attributeChangedCallback() {
    if (this.shadowRoot) this.draw();
  }

  draw() {
    const moment = new Date(this.getAttribute("at"));
    if (Number.isNaN(moment.getTime())) {
      this.shadowRoot.replaceChildren(document.createElement("slot"));
      return;
    }
    const time = document.createElement("time");
    time.dateTime = moment.toISOString();
    time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, formats[this.getAttribute("mode")] ?? formats.day).format(moment);
    this.shadowRoot.replaceChildren(time);
  }
}
customElements.define("live-clock", LiveClock);

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const opener = event.target.closest?.("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  }
  if (event.key === "?" && !isTyping(event)) document.getElementById("keys")?.showModal();
});

// A whole page where a part of one was asked for: the person is signed out, or the page is out of date.
document.addEventListener("htmx:after:request", (event) => {
  document.getElementById("no-answer").hidden = true;
  if (!/^\s*<!doctype/i.test(event.detail.ctx.text)) return;
  event.preventDefault();
  location.reload();
});

// What a person asked for and got no answer to. A list that refreshes itself just tries again.
document.addEventListener("htmx:error", (event) => {
  const asker = event.detail.ctx?.sourceElement;
  if (asker?.matches("button, form")) document.getElementById("no-answer").hidden = false;
});

// A page that comes back from the browser's memory has a closed socket and old rows.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
