// A person's scores and ranking: shown at once, taken back if the server refuses, undone for as long as one likes.

const DIGIT = /^\d$/;

/** A digit counts in ninths, 9 is best; any other number is itself. null if it is none between 0 and 1. */
export function valueOf(text) {
  const told = text.trim().replace(",", ".");
  if (DIGIT.test(told)) return Math.round((Number(told) / 9) * 100) / 100;
  const value = told === "" ? NaN : Number(told);
  return value >= 0 && value <= 1 ? value : null;
}

export class Scores {
  constructor(root, columns) {
    this.columns = columns;
    this.token = root.dataset.token;
    this.rankUrl = root.dataset.rankUrl;
    this.byScore = JSON.parse(root.dataset.byScore);
    this.places = { list: JSON.parse(root.dataset.places), ranked: "ranked" in root.dataset };
    this.kept = this.places; // as the server has it
    this.form = root.querySelector(".score-editor");
    this.toast = root.querySelector(".review-toast");
    this.undoButton = root.querySelector('[data-does="undo"]');
    this.undone = [];
    this.queue = Promise.resolve();
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save(false);
    });
    this.form.addEventListener("keydown", (event) => this.keyed(event));
    this.form.elements.value.addEventListener("input", () => this.readOut());
  }

  // The editor stands in the column of the try it scores.

  edit(head) {
    this.head = head;
    const [value, reason] = [this.form.elements.value, this.form.elements.reason];
    this.form.querySelector("h3").textContent = this.form.dataset.of.replace("{number}", String(Number(head.dataset.index) + 1));
    [value.value, reason.value] = [head.dataset.human, ""];
    this.complain("");
    this.readOut();
    const cell = this.columns.table.querySelector("tr.verdicts").cells[head.cellIndex];
    cell.prepend(this.form);
    this.form.hidden = false;
    value.focus();
    value.select();
    this.form.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  close() {
    this.form.hidden = true;
    this.columns.go(this.head);
  }

  readOut() {
    const value = valueOf(this.form.elements.value.value);
    this.form.querySelector("output").textContent = value === null ? "" : `= ${value.toFixed(2)}`;
  }

  complain(sentence) {
    const error = this.form.querySelector("[data-role=error]");
    error.hidden = !sentence;
    error.textContent = sentence;
    this.form.elements.value.setAttribute("aria-invalid", String(Boolean(sentence)));
  }

  keyed(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") this.close();
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.save(true);
  }

  save(goOn) {
    const { value, reason, use } = this.form.elements;
    const given = valueOf(value.value);
    if (given === null) {
      this.complain(this.toast.dataset.number);
      value.focus();
      return;
    }
    const head = this.head;
    const before = head.dataset.human;
    const written = [value.value, reason.value];
    this.tellHuman(head, given);
    this.close();
    if (goOn) this.columns.walk(1);
    this.post(head.dataset.scoreUrl, { value: String(given), reason: reason.value, use: use.value }, {
      done: (told) => this.offerUndo(told, (undone) => this.tellHuman(head, undone.standing)),
      refused: (sentence) => {
        this.tellHuman(head, before === "" ? null : Number(before));
        this.edit(head);
        [value.value, reason.value] = written;
        this.readOut();
        this.complain(sentence);
      },
    });
  }

  tellHuman(head, value) {
    head.dataset.human = value === null ? "" : value.toFixed(2);
    head.classList.toggle("scored", value !== null);
    head.querySelector(".human").hidden = value === null;
    head.querySelector(".try-human").textContent = head.dataset.human;
  }

  // Ranking

  rank(list) {
    this.arrange({ list, ranked: true });
    this.post(this.rankUrl, { places: JSON.stringify(list), reason: "" }, {
      done: (told) => {
        this.kept = { list: told.places, ranked: true };
        this.offerUndo(told, (undone) => {
          this.kept = { list: undone.standing ?? this.byScore, ranked: undone.standing !== null };
          this.arrange(this.kept);
        });
      },
      refused: (sentence) => {
        this.arrange(this.kept);
        this.say(sentence);
      },
    });
  }

  arrange(places) {
    this.places = places;
    this.columns.arrange(places.list, places.ranked);
  }

  // Asking the server, one thing after the other

  post(url, fields, { done, refused }) {
    this.queue = this.queue.then(async () => {
      try {
        const answer = await fetch(url, {
          method: "POST",
          headers: { Accept: "application/json", "X-CSRFToken": this.token },
          body: new URLSearchParams(fields),
        });
        const told = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : {};
        if (answer.ok && told.words) done(told);
        else refused(told.error ?? this.toast.dataset.lost);
      } catch (problem) {
        if (!(problem instanceof TypeError)) throw problem;
        refused(this.toast.dataset.lost); // no connection
      }
    });
  }

  offerUndo(told, afterwards) {
    this.undone.push({ url: told.undo, afterwards });
    this.undoButton.disabled = false;
    this.say(told.words, true);
  }

  undo() {
    const last = this.undone.pop();
    this.undoButton.disabled = !this.undone.length;
    if (!last) {
      this.say(this.toast.dataset.nothing);
      return;
    }
    this.post(last.url, {}, {
      done: (told) => {
        last.afterwards(told);
        this.say(told.words);
      },
      refused: (sentence) => {
        this.undone.push(last);
        this.undoButton.disabled = false;
        this.say(sentence);
      },
    });
  }

  /** Ten seconds of a sentence; longer while somebody points at it. */
  say(sentence, undoable = false) {
    this.toast.querySelector("[data-role=words]").textContent = sentence;
    this.toast.querySelector("button").hidden = !undoable;
    this.toast.classList.add("said-something");
    clearTimeout(this.timer);
    const end = () => {
      if (this.toast.matches(":hover, :focus-within")) this.timer = setTimeout(end, 1000);
      else this.toast.classList.remove("said-something");
    };
    this.timer = setTimeout(end, 10_000);
  }
}
