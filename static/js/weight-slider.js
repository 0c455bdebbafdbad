// <weight-slider>: a slider beside the number it stands for. The number is what counts and is typed with the
// keyboard; the slider follows it, and moves it. Numbers beyond its end leave it there.

class WeightSlider extends HTMLElement {
  connectedCallback() {
    this.slider = this.querySelector("input[type=range]");
    this.number = this.parentElement.querySelector(".weight-number");
    this.listening = new AbortController();
    const on = (target, name, act) => target.addEventListener(name, act, { signal: this.listening.signal });
    on(this.slider, "input", () => this.moved());
    on(this.slider, "change", () => this.number.dispatchEvent(new Event("change", { bubbles: true })));
    on(this.number, "input", () => this.typed());
    this.typed();
  }

  disconnectedCallback() {
    this.listening.abort();
  }

  moved() {
    this.number.value = this.slider.value;
    this.number.dispatchEvent(new Event("input", { bubbles: true }));
  }

  typed() {
    const value = Number(this.number.value.replace(",", "."));
    if (Number.isFinite(value)) this.slider.value = value;
  }
}
customElements.define("weight-slider", WeightSlider);
