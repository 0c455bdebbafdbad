// <token-strip src="…json">: all tokens of a try, drawn once from compact JSON. Coloured by what is chosen; the
// keyboard walks through the tokens that the agent drew. Blocks out of sight are laid out only when they come
// into sight (content-visibility), so thousands of tokens cost little.

import { isTyping } from "./typing.js";

const SVG = "http://www.w3.org/2000/svg";
const SURE = [0.9, 0.6, 0.3, 0.1, 0.02];
const UNDECIDED = [0.05, 0.3, 0.7, 1.2, 2]; // nats
const SURPRISING = -Math.log(0.3);
const BLOCK = 150; // tokens of a block at least: it ends with the line, or after MOST tokens in the midst of it
const MOST = 400;

/** 0 for a token the model was sure of, up to 5 for one it hardly expected or that has no number. */
function level(logprob) {
  if (logprob === null) return 5;
  const share = Math.exp(Math.min(0, logprob));
  const found = SURE.findIndex((floor) => share >= floor);
  return found < 0 ? 5 : found;
}

/** 0 where the model was decided, up to 5 where many tokens were as likely, or where nothing is known. */
function indecision(entropy) {
  if (entropy === null) return 5;
  const found = UNDECIDED.findIndex((ceiling) => entropy <= ceiling);
  return found < 0 ? 5 : found;
}

/** With a true minus sign. */
const signed = (value, places) => value.toFixed(places).replace("-", "−");
const visible = (text) => text.replaceAll("\n", "⏎\n").replaceAll("\t", "⇥\t") || "·";

class TokenStrip extends HTMLElement {
  async connectedCallback() {
    if (this.tokens) return;
    const role = (name) => this.querySelector(`[data-role=${name}]`);
    this.tokens = role("tokens");
    this.words = role("words");
    this.jump = role("jump");
    this.map = role("overview");
    this.colourBy(role("overlay"));
    try {
      const answer = await fetch(this.getAttribute("src"), { credentials: "same-origin", headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(String(answer.status));
      this.told = await answer.json();
    } catch {
      role("waiting").textContent = this.dataset.failed;
      return;
    } finally {
      this.tokens.removeAttribute("aria-busy");
    }
    this.draw();
    this.drawOverview();
    this.pages(role);
    role("unreadable").hidden = this.told.readable;
    this.listen();
    this.dataset.ready = "yes";
  }

  colourBy(overlay) {
    overlay.value = sessionStorage.getItem("artweb.overlay") ?? "logprob";
    if (!overlay.value) overlay.value = "logprob"; // entropy, where it was not measured
    this.dataset.overlay = overlay.value;
    overlay.addEventListener("change", () => {
      this.dataset.overlay = overlay.value;
      sessionStorage.setItem("artweb.overlay", overlay.value);
    });
  }

  /** A block for every stretch of tokens, a span for every token. this.drawn are those the agent drew. */
  draw() {
    const { start, ids, stretches } = this.told;
    const all = document.createDocumentFragment();
    this.spans = new Map();
    this.drawn = [];
    for (const [first, last, drawn, , message] of stretches) {
      const from = Math.max(first, start), to = Math.min(last, start + ids.length);
      if (from >= to) continue;
      all.append(this.boundary(drawn, message, from === first));
      for (let at = from; at < to; ) {
        const end = this.blockEnd(at, to);
        all.append(this.block(at, end, drawn));
        at = end;
      }
    }
    this.tokens.replaceChildren(all);
  }

  /** A block ends where a line does, so that nobody sees it end. */
  blockEnd(at, to) {
    const { start, texts } = this.told;
    let end = Math.min(to, at + BLOCK);
    while (end < Math.min(to, at + MOST) && !texts[end - 1 - start].includes("\n")) end += 1;
    return end;
  }

  block(at, end, drawn) {
    const { start, texts, logprobs, entropies, readable } = this.told;
    const block = document.createElement("span");
    block.className = drawn ? "tok-block drawn" : "tok-block";
    for (let place = at; place < end; place += 1) {
      const span = document.createElement("span"), index = place - start;
      span.className = drawn ? `tok tok-said s${level(logprobs[index])}` : "tok";
      if (drawn && entropies) span.classList.add(`e${indecision(entropies[index])}`);
      span.textContent = readable ? visible(texts[index]) : `${texts[index]} `;
      span.place = place;
      if (drawn) this.drawn.push(place);
      this.spans.set(place, span);
      block.append(span);
    }
    return block;
  }

  boundary(drawn, message, begins) {
    const mark = document.createElement("span");
    mark.className = drawn ? "tok-turn drawn" : "tok-turn";
    if (drawn && message !== null) mark.dataset.message = message;
    const words = drawn ? this.dataset.saidByWord : this.dataset.givenPartWord;
    mark.textContent = `${drawn && message !== null ? `#${message} ` : ""}${words}${begins ? "" : " …"}`;
    return mark;
  }

  /** Bars of the surprise of the whole try, marks where turns begin, and where the selected token is. */
  drawOverview() {
    const { overview, stretches, total } = this.told;
    const wide = 1000 / Math.max(1, overview.length), tallest = Math.max(2, ...overview);
    const shape = overview.map((height, at) => (height > 0 ? `M${(at * wide).toFixed(1)} 40v-${(2 + 36 * height / tallest).toFixed(1)}h${(wide * 0.85).toFixed(1)}V40z` : ""));
    const bars = this.shape("path", "overview-bars", { d: shape.join("") });
    const said = stretches.filter(([, , drawn]) => drawn).map(([from, to]) => this.shape("rect", "overview-said", { x: 1000 * from / total, width: Math.max(1, 1000 * (to - from) / total), y: 0, height: 40 }));
    this.cursor = this.shape("rect", "overview-cursor", { x: -10, width: 4, y: 0, height: 40 });
    this.map.replaceChildren(...said, bars, this.cursor);
  }

  shape(name, style, attributes) {
    const made = document.createElementNS(SVG, name);
    made.setAttribute("class", style);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  pages(role) {
    const { start, ids, total } = this.told;
    if (ids.length >= total) return;
    role("pages").hidden = false;
    role("extent").textContent = `${start + 1}–${start + ids.length} / ${total}`;
    const link = (name, place, there) => {
      const found = role(name);
      found.hidden = !there;
      found.href = found.dataset.base + place;
    };
    link("earlier", Math.max(0, start - 1), start > 0);
    link("later", start + ids.length, start + ids.length < total);
  }

  listen() {
    this.tokens.addEventListener("pointerover", (event) => this.tell(event.target.place));
    this.tokens.addEventListener("click", (event) => event.target.place !== undefined && this.select(event.target.place, false));
    this.tokens.addEventListener("pointerleave", () => this.tell(this.selected));
    this.jump?.addEventListener("change", () => this.jumpTo(Number(this.jump.value)));
    this.map.addEventListener("click", (event) => this.goTo((event.offsetX / this.map.clientWidth) * this.told.total));
    for (const button of this.querySelectorAll("[data-act]")) button.addEventListener("click", () => this.walk(button.dataset.act));
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** Arrows and Home, End belong to the tokens while these have the focus; n and p to the page. */
  pressed(event) {
    if (isTyping(event) || document.querySelector("dialog[open]")) return;
    const here = this.tokens.contains(document.activeElement);
    const everywhere = event.key === "n" || event.key === "p";
    if (!everywhere && !(here && ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key))) return;
    if (this.walk(event.key)) event.preventDefault();
  }

  walk(key) {
    if (!this.drawn.length) return false;
    const now = this.selected ?? -1;
    const surprising = (place) => {
      const logprob = this.told.logprobs[place - this.told.start];
      return logprob === null || -logprob >= SURPRISING;
    };
    const after = (fits = () => true) => this.drawn.find((place) => place > now && fits(place));
    const before = (fits = () => true) => this.drawn.findLast((place) => place < (now < 0 ? Infinity : now) && fits(place));
    const found = {
      ArrowRight: () => after(),
      ArrowLeft: () => before(),
      ArrowDown: () => this.turn(1),
      ArrowUp: () => this.turn(-1),
      Home: () => this.drawn[0],
      End: () => this.drawn.at(-1),
      n: () => after(surprising),
      p: () => before(surprising),
    }[key]();
    if (found !== undefined) this.select(found, true);
    return true;
  }

  /** The first token of the next or of the previous turn. */
  turn(direction) {
    const now = this.selected ?? -1;
    const firsts = this.told.stretches.filter(([, , drawn]) => drawn).map(([first]) => first).filter((first) => this.spans.has(first));
    return direction > 0 ? firsts.find((first) => first > now) : firsts.findLast((first) => first < now);
  }

  jumpTo(message) {
    const found = this.told.stretches.find(([, , drawn, , number]) => drawn && number === message);
    if (found) this.goTo(found[0]);
  }

  /** The drawn token at a place or next after it; a place outside what is drawn leads to another page. */
  goTo(place) {
    const { start, ids } = this.told;
    if (place < start || place >= start + ids.length) {
      const link = this.querySelector("[data-role=later]");
      location.assign(link.dataset.base + Math.floor(place));
      return;
    }
    const found = this.drawn.find((each) => each >= Math.floor(place)) ?? this.drawn.at(-1);
    if (found !== undefined) this.select(found, true);
  }

  select(place, scroll) {
    this.spans.get(this.selected)?.classList.remove("chosen");
    this.selected = place;
    const span = this.spans.get(place);
    span.classList.add("chosen");
    if (scroll) span.scrollIntoView({ block: "nearest" });
    this.cursor.setAttribute("x", 1000 * place / this.told.total - 2);
    this.tell(place);
  }

  /** What is known of a token; of the selected one when none is pointed at. */
  tell(place) {
    if (place === undefined) return;
    const { start, ids, texts, logprobs, entropies, ratios, stretches } = this.told;
    const words = this.dataset, index = place - start;
    const [, , drawn, first, message] = stretches.find(([from, to]) => from <= place && place < to);
    const facts = [`${words.placeWord} ${place}`, `${words.idWord} ${ids[index]}`];
    if (drawn) {
      const logprob = logprobs[index];
      if (logprob === null) facts.push(words.unknownWord);
      else facts.push(`${words.saidWord} ${(100 * Math.exp(logprob)).toFixed(1)} %`, `${words.logprobWord} ${signed(logprob, 3)}`);
      if (entropies) facts.push(`${words.entropyWord} ${entropies[index]?.toFixed(3) ?? "–"}`, `${words.ratioWord} ${ratios[index]?.toFixed(5) ?? "–"}`);
      facts.push(words.lossWord);
      if (message !== null) facts.push(`${words.messageWord} #${message}`);
    } else {
      facts.push(words.givenWord);
      if (message !== null) facts.push(`${words.messageWord} #${first}${message - 1 > first ? `–#${message - 1}` : ""}`);
    }
    const text = document.createElement("code");
    text.textContent = visible(texts[index]).trimEnd();
    text.dir = "auto";
    const rest = document.createElement("span");
    rest.className = "num small";
    rest.textContent = facts.join(" · ");
    this.words.replaceChildren(text, rest);
  }
}
customElements.define("token-strip", TokenStrip);
