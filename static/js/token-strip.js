// <token-strip>: a window of tokens; colours by what is chosen, tells the numbers of the token pointed at.

class TokenStrip extends HTMLElement {
  connectedCallback() {
    this.overlay = this.querySelector("[data-role=overlay]");
    this.words = this.querySelector("[data-role=words]");
    this.tokens = this.querySelector("[data-role=tokens]");
    this.overlay.value = sessionStorage.getItem("artweb.overlay") ?? "logprob";
    this.dataset.overlay = this.overlay.value;
    this.overlay.addEventListener("change", () => {
      this.dataset.overlay = this.overlay.value;
      sessionStorage.setItem("artweb.overlay", this.overlay.value);
    });
    this.tokens.addEventListener("pointerover", (event) => this.tell(event.target.closest(".tok")));
    this.tokens.addEventListener("click", (event) => this.tell(event.target.closest(".tok")));
    this.tokens.addEventListener("pointerleave", () => this.tell(null));
  }

  tell(token) {
    const words = this.words.dataset;
    if (!token) {
      this.words.textContent = words.hint;
      return;
    }
    const { place, id, logprob, share } = token.dataset;
    const said = logprob === undefined ? words.givenWord : `${words.saidWord} ${share} (log ${logprob})`;
    this.words.textContent = `${words.placeWord} ${place} · ${words.idWord} ${id} · ${said}`;
  }
}
customElements.define("token-strip", TokenStrip);
