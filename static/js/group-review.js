// <group-review>: the tries of a group side by side, read, scored and ranked by keyboard, mouse or finger.

import { Columns, moved } from "./group-columns.js";
import { Scores } from "./group-scores.js";
import { isTyping } from "./typing.js";

const FOLDED = "artweb.only-differences";
const MESSAGE = /^#t(\d+)m(\d+)$/;

/** Into view, below its column's head; again while cells around it, drawn only now, still push it away. */
function bring(cell, times = 5) {
  cell.closest(".tries").scrollIntoView({ block: "start" });
  cell.scrollIntoView({ block: "nearest", inline: "center" });
  if (times) requestAnimationFrame(() => bring(cell, times - 1));
}

class GroupReview extends HTMLElement {
  connectedCallback() {
    this.columns = new Columns(this);
    if (!this.columns.heads.length) return;
    this.scores = new Scores(this, this.columns);
    this.columns.draggable((index, place) => this.place(index, place));
    this.columns.swipeable();
    this.fold(sessionStorage.getItem(FOLDED) === "yes");
    this.addEventListener("click", (event) => this.clicked(event));
    this.addEventListener("focusin", (event) => {
      const head = event.target.closest("th.try");
      if (head) this.columns.choose(head);
    });
    document.addEventListener("keydown", (event) => this.keyed(event));
    window.addEventListener("hashchange", () => this.followHash());
    this.followAddress();
  }

  keyed(event) {
    if (isTyping(event) || document.querySelector("dialog[open]")) return;
    if (/^[1-9]$/.test(event.key)) this.placeCurrent(Number(event.key));
    else if (event.key === "j") this.columns.walk(1);
    else if (event.key === "k") this.columns.walk(-1);
    else if (event.key === "d") this.fold(!this.classList.contains("only-differences"));
    else if (event.key === "u") this.scores.undo();
    else if (event.key === "e") {
      event.preventDefault(); // the letter is not for the field
      this.score(this.columns.current ?? this.columns.heads[0]);
    }
  }

  clicked(event) {
    const does = event.target.closest("[data-does]")?.dataset.does;
    const head = event.target.closest("th.try");
    const tab = event.target.closest("[data-shows]");
    const whole = event.target.closest("[data-whole]");
    const link = event.target.closest("a.here");
    if (tab) this.columns.choose(this.columns.head(Number(tab.dataset.shows)));
    else if (whole) this.showWhole(whole);
    else if (link) this.copy(event, link);
    else if (does === "differences") this.fold(!this.classList.contains("only-differences"));
    else if (does === "undo" || does === "undo-this") this.scores.undo();
    else if (does === "score") this.score(head);
    else if (does === "cancel") this.scores.close();
    else if (does === "better") this.place(Number(head.dataset.index), head.cellIndex - 1);
    else if (does === "worse") this.place(Number(head.dataset.index), head.cellIndex + 1);
  }

  score(head) {
    this.columns.choose(head);
    this.scores.edit(head);
  }

  placeCurrent(place) {
    const head = this.columns.current;
    if (head) this.place(Number(head.dataset.index), place);
    else this.scores.say(this.scores.toast.dataset.choose);
  }

  place(index, place) {
    const most = this.columns.heads.length;
    if (most < 2) return;
    if (place < 1 || place > most) {
      this.scores.say(this.scores.toast.dataset.place.replace("{most}", String(most)));
      return;
    }
    this.scores.rank(moved(this.scores.places.list, index, place));
    this.columns.go(this.columns.head(index));
  }

  fold(folded) {
    this.classList.toggle("only-differences", folded);
    this.querySelector('.review-bar [data-does="differences"]')?.setAttribute("aria-pressed", String(folded));
    sessionStorage.setItem(FOLDED, folded ? "yes" : "no");
  }

  async showWhole(button) {
    const said = button.closest("td").querySelector(".said");
    const [, index, number] = MESSAGE.exec(`#${button.dataset.whole}`);
    button.disabled = true;
    await htmx.ajax("GET", `/groups/${this.dataset.group}/tries/${index}/messages/${number}/`, { source: button, target: said, swap: "innerHTML" });
    button.remove();
    said.closest("td").querySelector("a.here").focus({ preventScroll: true });
  }

  async copy(event, link) {
    event.preventDefault();
    const address = new URL(`?t=${MESSAGE.exec(link.hash)[1]}${link.hash}`, location.href).href;
    location.replace(link.hash);
    try {
      await navigator.clipboard.writeText(address);
      this.scores.say(this.scores.toast.dataset.copied);
    } catch {
      history.replaceState(null, "", address); // not allowed to copy: the address bar has it
    }
  }

  /** ?t=3 shows that try, #t3m5 that message of it. */
  followAddress() {
    const wanted = new URLSearchParams(location.search).get("t") ?? /^#try-(\d+)$/.exec(location.hash)?.[1];
    const head = wanted === null || wanted === undefined ? null : this.columns.head(Number(wanted));
    if (MESSAGE.test(location.hash)) this.followHash();
    else if (head) this.columns.go(head);
  }

  followHash() {
    const found = MESSAGE.exec(location.hash);
    const head = found && this.columns.head(Number(found[1]));
    if (!head) return;
    const cell = document.getElementById(location.hash.slice(1));
    if (!cell) {
      if (Number(head.dataset.more)) location.replace(`${head.dataset.opensPage}#m${found[2]}`);
      return;
    }
    if (cell.parentElement.matches(".equal")) this.fold(false);
    this.columns.choose(head);
    cell.tabIndex = -1;
    cell.focus({ preventScroll: true });
    bring(cell);
  }
}
customElements.define("group-review", GroupReview);
