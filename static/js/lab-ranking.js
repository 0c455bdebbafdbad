// A group ranked by hand: by dragging, by number keys, by buttons. What stands on the server is the truth; a
// ranking is saved as soon as every try has a place, and each save can be taken back.

import { isTyping } from "./typing.js";

const DRAG_FROM = 5;

const fill = (words, told) => words.replace(/\{(\w+)\}/g, (_, name) => told[name]);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Places without a try; emptied places close up. */
const without = (places, index) => places.map((place) => place.filter((other) => other !== index)).filter((place) => place.length);
const placeOf = (places, index) => places.findIndex((place) => place.includes(index));

/** A place of its own at `at` (from 0), whoever stands there moves on. */
export function bring(places, index, at) {
  const rest = without(places, index);
  rest.splice(Math.max(0, Math.min(at, rest.length)), 0, [index]);
  return rest;
}

/** One place better (-1) or worse (1); from a tie into a place of its own beside it. */
export function move(places, index, by) {
  const at = placeOf(places, index);
  if (at < 0) return by < 0 ? bring(places, index, places.length) : places;
  if (places[at].length > 1) return bring(places, index, by < 0 ? at : at + 1);
  return bring(places, index, at + by);
}

/** Share the place above; or, where it is shared, have one's own right after it. */
export function tie(places, index) {
  const at = placeOf(places, index);
  if (at < 0) return places.length ? join(places, index, places.length - 1) : places;
  if (places[at].length > 1) return bring(places, index, at + 1);
  return at ? join(places, index, at - 1) : places;
}

/** Share the place of `beside`'s number. */
export function join(places, index, at) {
  const others = places[at]?.filter((other) => other !== index);
  if (!others?.length) return places;
  const rest = without(places, index);
  rest[placeOf(rest, others[0])].push(index);
  return rest;
}

class LabRanking extends HTMLElement {
  connectedCallback() {
    if (this.listening) return;
    this.listening = new AbortController();
    const { signal } = this.listening;
    const settings = JSON.parse(document.getElementById(this.dataset.settings).textContent);
    this.url = settings.url;
    this.cards = [...this.querySelectorAll(".lab-card")];
    this.indexes = this.cards.map((card) => Number(card.dataset.index));
    this.places = settings.places;
    this.past = settings.undo ? [{ undo: settings.undo }] : [];
    this.sending = Promise.resolve();
    this.addEventListener("click", (event) => this.clicked(event), { signal });
    this.addEventListener("pointerdown", (event) => this.grip(event), { signal });
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    document.getElementById("lab-blind")?.addEventListener("change", (event) => (event.target.checked ? this.veil() : this.reveal()), { signal });
    this.veiled = [...document.getElementById("lab-verdicts").childNodes];
    this.draw();
    if (this.complete && settings.undo) requestAnimationFrame(() => this.reveal());
  }

  disconnectedCallback() {
    this.listening?.abort();
    this.listening = undefined;
  }

  get complete() {
    return this.places.flat().length === this.indexes.length;
  }

  get left() {
    return this.indexes.filter((index) => placeOf(this.places, index) < 0);
  }

  card(index) {
    return this.cards.find((card) => Number(card.dataset.index) === index);
  }

  name(index) {
    return this.card(index).dataset.name;
  }

  part(name) {
    return this.querySelector(`[data-holds="${name}"], [data-says="${name}"], [data-act="${name}"]`);
  }

  /** Take new places over, tell and save them. */
  put(places, index) {
    if (same(places, this.places)) return this.tell(index);
    const step = { before: this.places, undo: "" };
    this.past.push(step);
    this.places = places;
    this.part("redo").hidden = true;
    this.draw();
    this.tell(index);
    if (this.complete) this.save(step);
  }

  save(step) {
    const places = JSON.stringify(this.places);
    this.queue(async () => {
      step.undo = (await this.post(this.url, { places })).undo;
      if (document.getElementById("lab-verdicts").dataset.shown) this.reveal();
    });
  }

  /** Steps that were saved are taken back on the server too; the one before counts again there. */
  undo() {
    if (!this.past.length) return this.say("moved", this.dataset.nothing);
    this.queue(async () => {
      const step = this.past.pop();
      const told = step.undo ? await this.post(step.undo, {}) : undefined;
      this.undone = { places: this.places, redo: told?.undo };
      this.part("redo").hidden = !told;
      this.back(step.before ?? told?.standing ?? []);
    });
  }

  redo() {
    this.queue(async () => {
      const told = await this.post(this.undone.redo, {});
      this.past.push({ before: this.places, undo: told.undo });
      this.part("redo").hidden = true;
      this.back(this.undone.places, this.dataset.redone);
    });
  }

  back(places, words = this.dataset.undone) {
    this.places = places;
    this.draw();
    this.say("moved", words);
  }

  /** Those that are left share the last place; then everybody's opinion is shown. */
  confirm() {
    const left = this.left;
    if (left.length) this.put([...this.places, left], left[0]);
    this.sending.then(() => this.reveal());
  }

  reveal() {
    const verdicts = document.getElementById("lab-verdicts");
    verdicts.dataset.shown = "yes";
    document.getElementById("lab-blind").checked = false;
    verdicts.dispatchEvent(new CustomEvent("lab-reveal"));
  }

  veil() {
    const verdicts = document.getElementById("lab-verdicts");
    delete verdicts.dataset.shown;
    verdicts.replaceChildren(...this.veiled);
  }

  /** One request after the other, so that the newest ranking is the last one saved. */
  queue(work) {
    this.say("state", this.dataset.saving);
    this.sending = this.sending.then(work).then(
      () => this.settled(this.dataset.saved, ""),
      (error) => this.settled("", error.told ?? this.dataset.unsaved),
    );
  }

  settled(state, error) {
    this.say("state", state);
    this.say("error", error);
    this.part("error").hidden = !error;
    this.part("undo").disabled = !this.past.length;
  }

  async post(url, values) {
    const token = JSON.parse(document.body.getAttribute("hx-headers:inherited"))["X-CSRFToken"];
    const answer = await fetch(url, {
      method: "POST",
      body: new URLSearchParams(values),
      headers: { Accept: "application/json", "X-CSRFToken": token },
    });
    const told = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(told.error), { told: told.error });
    return told;
  }

  say(part, words) {
    this.part(part).textContent = words;
  }

  /** Where a try stands now, for those who do not see it. */
  tell(index) {
    this.say("moved", `${this.placeWords(index)} ${this.left.length ? fill(this.dataset.left, { left: this.left.length }) : ""}`.trim());
  }

  placeWords(index) {
    const at = placeOf(this.places, index);
    if (at < 0) return fill(this.dataset.unplaced, { try: this.name(index) });
    const others = this.places[at].filter((other) => other !== index).map((other) => this.name(other));
    const told = { try: this.name(index), place: at + 1, count: this.places.length, others: others.join(", ") };
    return fill(others.length ? this.dataset.tied : this.dataset.placed, told);
  }

  draw() {
    const focused = this.contains(document.activeElement) ? document.activeElement.dataset.chip : undefined;
    const places = this.places.flatMap((place, at) => [this.gap(at), this.place(place, at)]);
    this.part("places").replaceChildren(...places, this.gap(this.places.length));
    this.part("tray").replaceChildren(...this.left.map((index) => this.item(index)));
    this.part("rest").hidden = this.complete;
    this.part("undo").disabled = !this.past.length;
    for (const index of this.indexes) {
      const at = placeOf(this.places, index);
      const shown = at < 0 ? "–" : `${at + 1}${this.places[at].length > 1 ? " =" : ""}`;
      const badge = this.card(index).querySelector("[data-at]");
      badge.textContent = shown;
      badge.classList.toggle("accent", at >= 0);
    }
    if (focused) this.querySelector(`[data-chip="${focused}"]`)?.focus();
  }

  gap(at) {
    const gap = document.createElement("span");
    gap.className = "lab-gap";
    gap.dataset.gap = at;
    gap.ariaHidden = "true";
    gap.title = this.dataset.between;
    return gap;
  }

  place(place, at) {
    const item = document.createElement("div");
    item.className = "lab-place";
    item.dataset.place = at;
    const number = document.createElement("span");
    number.className = "lab-number num";
    number.textContent = at + 1;
    number.ariaHidden = "true";
    const tied = document.createElement("ul");
    tied.setAttribute("aria-label", fill(this.dataset.placeName, { place: at + 1 }));
    tied.append(...place.map((index) => this.item(index)));
    item.append(number, tied);
    return item;
  }

  item(index) {
    const item = document.createElement("li");
    const chip = document.createElement("button");
    chip.type = "button";
    chip.className = "lab-chip";
    chip.dataset.chip = index;
    chip.textContent = this.name(index);
    item.append(chip);
    return item;
  }

  clicked(event) {
    const button = event.target.closest("button");
    if (!button) return;
    const card = button.closest(".lab-card");
    if (card) {
      const index = Number(card.dataset.index);
      if (button.dataset.move) this.put(move(this.places, index, Number(button.dataset.move)), index);
      else if ("tie" in button.dataset) this.put(tie(this.places, index), index);
    } else if (button.dataset.chip && !this.dropped) this.look(Number(button.dataset.chip));
    else if (button.dataset.act) this[button.dataset.act]();
    this.dropped = false;
  }

  look(index) {
    const card = this.card(index);
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest", inline: "center" });
  }

  /** All that was said in the tries, or the beginnings. */
  whole() {
    this.part("whole").ariaPressed = String(this.toggleAttribute("data-whole"));
  }

  /** The try that keys act on: the card or chip that has the focus. */
  focused() {
    const here = document.activeElement;
    const told = here?.dataset?.chip ?? here?.closest?.(".lab-card")?.dataset.index;
    return told === undefined ? undefined : Number(told);
  }

  key(event) {
    if (isTyping(event) || document.querySelector("dialog[open]")) return;
    const index = this.focused();
    const acts = {
      j: () => this.walk(1),
      k: () => this.walk(-1),
      u: () => this.undo(),
      e: () => this.whole(),
      n: () => document.querySelector('a[rel="next"]')?.click(),
      p: () => document.querySelector('a[rel="prev"]')?.click(),
    };
    const act = acts[event.key] ?? (index === undefined ? undefined : this.keyOnTry(event, index));
    if (act === undefined && event.key === "Enter" && !event.target.closest?.("a, button, summary")) {
      event.preventDefault();
      this.confirm();
    } else if (act) {
      event.preventDefault();
      act();
    }
  }

  keyOnTry(event, index) {
    if (/^[1-9]$/.test(event.key)) return () => this.number(index, Number(event.key));
    const moves = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };
    if (moves[event.key]) return () => this.put(move(this.places, index, moves[event.key]), index);
    return event.key === "=" ? () => this.put(tie(this.places, index), index) : undefined;
  }

  /** Bring a try to a place; whoever places one try after the other is led to the next one. */
  number(index, place) {
    const fresh = placeOf(this.places, index) < 0;
    this.put(bring(this.places, index, place - 1), index);
    const next = this.left[0];
    if (fresh && next !== undefined) this.look(next);
  }

  walk(by) {
    const here = this.indexes.indexOf(this.focused());
    this.look(this.indexes[here < 0 ? 0 : Math.max(0, Math.min(this.indexes.length - 1, here + by))]);
  }

  /** Dragging by pointer: a chip or the head of a card, dropped on a place (a tie) or between two. */
  grip(event) {
    const held = event.target.closest("[data-chip], [data-grip]");
    if (!held || event.button !== 0) return;
    const index = Number(held.dataset.chip ?? held.closest(".lab-card").dataset.index);
    const drag = { index, x: event.clientX, y: event.clientY, held, under: null, moved: false };
    const over = new AbortController();
    const options = { signal: over.signal };
    this.dropped = false;
    if (event.pointerType === "touch" && "grip" in held.dataset) return;
    window.addEventListener("pointermove", (to) => this.drag(drag, to), options);
    window.addEventListener("pointerup", () => this.drop(drag, over), options);
    window.addEventListener("pointercancel", () => this.drop({ ...drag, under: null }, over), options);
    if (held.dataset.chip === undefined) event.preventDefault();
  }

  drag(drag, to) {
    const [dx, dy] = [to.clientX - drag.x, to.clientY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < DRAG_FROM) return;
    drag.moved = true;
    drag.held.classList.add("lab-dragged");
    drag.held.style.transform = `translate(${dx}px, ${dy}px)`;
    const under = document.elementFromPoint(to.clientX, to.clientY)?.closest(".lab-place, .lab-gap, .lab-places") ?? null;
    if (under === drag.under) return;
    drag.under?.classList.remove("lab-under");
    under?.classList.add("lab-under");
    drag.under = under;
  }

  drop(drag, over) {
    over.abort();
    drag.held.classList.remove("lab-dragged");
    drag.held.style.transform = "";
    const { under, index } = drag;
    under?.classList.remove("lab-under");
    if (!drag.moved) return;
    this.dropped = true;
    setTimeout(() => { this.dropped = false; });
    if (!under) return;
    if (under.dataset.place !== undefined) this.put(join(this.places, index, Number(under.dataset.place)), index);
    else this.put(bring(this.places, index, this.gapOf(under, index)), index);
  }

  /** A gap's number once the dragged try has left a place of its own before it. */
  gapOf(under, index) {
    const at = under.dataset.gap === undefined ? this.places.length : Number(under.dataset.gap);
    const from = placeOf(this.places, index);
    return from >= 0 && from < at && this.places[from].length === 1 ? at - 1 : at;
  }
}
customElements.define("lab-ranking", LabRanking);
