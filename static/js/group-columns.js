// The columns of a group's tries: their order, which one is being read, and one at a time on a phone.

/** `places` with `index` moved to `place` (1 is the best); whoever was equal there gives way. */
export function moved(places, index, place) {
  const rest = places.map((equal) => equal.filter((other) => other !== index)).filter((equal) => equal.length);
  const before = [];
  let left = place - 1;
  while (rest.length && left >= rest[0].length) {
    left -= rest[0].length;
    before.push(rest.shift());
  }
  if (left > 0 && rest.length) {
    before.push(rest[0].slice(0, left));
    rest[0] = rest[0].slice(left);
  }
  return [...before, [index], ...rest];
}

const onPhone = () => matchMedia("(max-width: 40rem)").matches;

export class Columns {
  constructor(root) {
    this.table = root.querySelector("table.side-by-side");
    this.region = root.querySelector(".tries");
    this.tabs = [...root.querySelectorAll("[data-shows]")];
    this.sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
    this.shown = this.heads[0]; // by the style sheet
    this.last = null;
  }

  get heads() {
    return [...this.table.tHead.rows[0].cells].slice(1);
  }

  head(index) {
    return this.heads.find((head) => Number(head.dataset.index) === index);
  }

  /** The head of the try that has the focus, or had it last. */
  get current() {
    const cell = document.activeElement?.closest?.("table.side-by-side td, table.side-by-side th");
    const here = cell && cell.colSpan === 1 && cell.cellIndex > 0 ? this.table.tHead.rows[0].cells[cell.cellIndex] : null;
    return here ?? this.last;
  }

  walk(direction) {
    const heads = this.heads;
    const here = heads.indexOf(this.current);
    this.go(heads[here < 0 ? 0 : Math.min(heads.length - 1, Math.max(0, here + direction))]);
  }

  /** Focus a try and bring its column into view. */
  go(head) {
    if (!head) return;
    this.choose(head);
    head.focus({ preventScroll: true });
    head.scrollIntoView({ block: "nearest", inline: "center" });
  }

  /** What is asked next is asked of this try. */
  choose(head) {
    this.last = head;
    this.show(head);
  }

  /** Where only one column fits, this is the one. */
  show(head) {
    if (head === this.shown && head.cellIndex === this.shownAt) return;
    this.shown = head;
    this.shownAt = head.cellIndex;
    const column = head.cellIndex + 1;
    this.sheet.replaceSync(`@media (max-width: 40rem) {
      .side-by-side tr > :not(:first-child, :nth-child(${column}), [colspan]) { display: none; }
      .side-by-side tr > :nth-child(${column}) { display: table-cell; }
    }`);
    for (const tab of this.tabs) tab.setAttribute("aria-pressed", String(tab.dataset.shows === head.dataset.index));
    if (onPhone()) this.tabs.find((tab) => tab.ariaPressed === "true")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Columns in this order, and who is ranked where; without `ranked` no place is shown. */
  arrange(places, ranked) {
    const order = places.flat();
    const from = this.heads.map((head) => Number(head.dataset.index));
    const focused = this.table.contains(document.activeElement) ? document.activeElement : null;
    if (order.some((index, at) => from[at] !== index)) {
      const picks = order.map((index) => from.indexOf(index) + 1);
      for (const row of this.table.rows) {
        if (row.cells.length === from.length + 1) row.append(...picks.map((at) => row.cells[at]));
      }
    }
    for (const index of order) {
      const tab = this.tabs.find((one) => Number(one.dataset.shows) === index);
      if (tab) tab.parentElement.append(tab);
    }
    let place = 1;
    for (const equal of places) {
      for (const index of equal) this.tell(this.head(index), ranked ? place : null);
      place += equal.length;
    }
    focused?.focus({ preventScroll: true });
    if (this.shown) this.show(this.shown);
  }

  tell(head, place) {
    const chip = head?.querySelector(".my-place");
    if (!chip) return;
    chip.hidden = place === null;
    chip.querySelector("b").textContent = place ?? "";
  }

  /** Columns dragged by their heads; `dropped(index, place)` is told where one was let go. */
  draggable(dropped) {
    this.table.tHead.addEventListener("dragstart", (event) => {
      this.dragged = event.target.closest?.("th.try");
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", this.dragged?.querySelector(".try-name").textContent ?? "");
    });
    this.table.addEventListener("dragover", (event) => {
      if (this.dragged) event.preventDefault();
      this.mark(this.dragged && this.headAt(event.target));
    });
    this.table.addEventListener("drop", (event) => {
      const over = this.headAt(event.target);
      if (!this.dragged || !over) return;
      event.preventDefault();
      if (over !== this.dragged) dropped(Number(this.dragged.dataset.index), over.cellIndex);
    });
    this.table.addEventListener("dragend", () => {
      this.dragged = null;
      this.mark(null);
    });
  }

  headAt(target) {
    const cell = target.closest?.("td, th");
    return cell && cell.colSpan === 1 && cell.cellIndex > 0 ? this.table.tHead.rows[0].cells[cell.cellIndex] : null;
  }

  mark(over) {
    for (const head of this.heads) head.classList.toggle("dropped-on", head === over);
  }

  /** A finger that moves sideways over the tries of a phone goes to the next or the one before. */
  swipeable() {
    let began = null;
    this.region.addEventListener("touchstart", (event) => { began = event.touches.length === 1 ? event.touches[0] : null; }, { passive: true });
    this.region.addEventListener("touchend", (event) => {
      if (!began || !onPhone()) return;
      const [x, y] = [event.changedTouches[0].clientX - began.clientX, event.changedTouches[0].clientY - began.clientY];
      if (Math.abs(x) < 60 || Math.abs(x) < 2 * Math.abs(y)) return;
      const heads = this.heads;
      const next = heads[heads.indexOf(this.shown) + (x < 0 ? 1 : -1)];
      if (next) this.choose(next);
    }, { passive: true });
  }
}
