// <code-editor>: a plain textarea with line numbers, where Tab indents and Enter keeps the indentation.
// Escape lets the next Tab leave it, so that nobody is caught in it.

const INDENT = "    ";

class CodeEditor extends HTMLElement {
  connectedCallback() {
    this.area = this.querySelector("textarea");
    if (!this.gutter) {
      this.gutter = document.createElement("pre");
      this.gutter.className = "gutter";
      this.gutter.setAttribute("aria-hidden", "true");
      this.area.before(this.gutter);
    }
    this.listening = new AbortController();
    const { signal } = this.listening;
    this.area.addEventListener("input", () => this.number(), { signal });
    this.area.addEventListener("scroll", () => this.follow(), { signal });
    this.area.addEventListener("keydown", (event) => this.key(event), { signal });
    this.area.addEventListener("blur", () => { this.leaving = false; }, { signal });
    document.addEventListener("click", (event) => this.go(event), { signal });
    this.number();
  }

  disconnectedCallback() {
    this.listening.abort();
  }

  number() {
    const lines = this.area.value.split("\n").length;
    if (lines === this.lines) return;
    this.lines = lines;
    this.gutter.textContent = Array.from({ length: lines }, (_, at) => at + 1).join("\n");
    this.follow();
  }

  follow() {
    this.gutter.scrollTop = this.area.scrollTop;
  }

  key(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") this.leaving = true;
    else if (event.key === "Tab" && !this.leaving) this.indent(event);
    else if (event.key === "Enter" && !event.shiftKey) this.newLine(event);
    else if (event.key !== "Shift" && event.key !== "Tab") this.leaving = false;
  }

  /** Tab indents the selected lines, or the place; Shift and Tab take it back. */
  indent(event) {
    event.preventDefault();
    const { value, selectionStart: start, selectionEnd: end } = this.area;
    const begin = value.lastIndexOf("\n", start - 1) + 1;
    if (!event.shiftKey && start === end) return this.write(INDENT, start, end);
    const lines = value.slice(begin, end).split("\n");
    const shifted = lines.map((line) => (event.shiftKey ? line.replace(/^ {1,4}|^\t/, "") : INDENT + line));
    this.write(shifted.join("\n"), begin, end);
    if (start !== end) this.area.setSelectionRange(begin, begin + shifted.join("\n").length);
  }

  newLine(event) {
    event.preventDefault();
    const { value, selectionStart: start, selectionEnd: end } = this.area;
    const line = value.slice(value.lastIndexOf("\n", start - 1) + 1, start);
    const deeper = line.trimEnd().endsWith(":") ? INDENT : "";
    this.write(`\n${line.match(/^\s*/)[0]}${deeper}`, start, end);
  }

  /** Through the browser's own editing, so that its undo works. */
  write(text, start, end) {
    this.area.setSelectionRange(start, end);
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, start, end, "end");
      this.area.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  /** A sentence about a line leads to the line. */
  go(event) {
    const button = event.target.closest?.("[data-line]");
    if (!button) return;
    const lines = this.area.value.split("\n");
    const at = Math.min(Number(button.dataset.line), lines.length) - 1;
    const start = lines.slice(0, at).join("\n").length + (at ? 1 : 0);
    this.area.focus();
    this.area.setSelectionRange(start, start + lines[at].length);
    this.area.scrollTop = (this.area.scrollHeight / lines.length) * Math.max(0, at - 4);
  }
}
customElements.define("code-editor", CodeEditor);
