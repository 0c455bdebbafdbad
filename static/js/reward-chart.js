// <reward-chart>: draws the curve from the rows of the table it holds, so that chart and table cannot differ.

import { axis, colour, lonely, onOtherScheme } from "./chart-colours.js";

const number = (text) => (text === undefined || text === "" || text === "None" ? null : Number(text));

class RewardChart extends HTMLElement {
  connectedCallback() {
    this.box = this.querySelector(".chart");
    this.words = this.querySelector(".chart-words");
    this.rows = this.querySelector("tbody");
    this.scheduled = 0;
    this.rowsObserver = new MutationObserver(() => this.schedule());
    this.rowsObserver.observe(this.rows, { childList: true });
    this.sizeObserver = new ResizeObserver(() => this.resize());
    this.sizeObserver.observe(this.box);
    this.forgetScheme = onOtherScheme(() => { this.plot?.destroy(); this.plot = null; this.schedule(); });
    this.schedule();
  }

  disconnectedCallback() {
    cancelAnimationFrame(this.scheduled);
    this.rowsObserver.disconnect();
    this.sizeObserver.disconnect();
    this.forgetScheme();
    this.plot?.destroy();
    this.plot = null;
  }

  schedule() {
    cancelAnimationFrame(this.scheduled);
    this.scheduled = requestAnimationFrame(() => this.draw());
  }

  /** Columns step, reward, success, unseen, low, high; one place per step, gaps are null. */
  data() {
    const bySteps = new Map();
    for (const { dataset } of this.rows.rows) {
      const step = Number(dataset.step);
      const point = bySteps.get(step) ?? { reward: null, success: null, unseen: null, low: null, high: null };
      if (dataset.kind === "step") {
        point.reward = number(dataset.reward);
        point.success = number(dataset.success);
      } else {
        point.unseen = number(dataset.success);
        point.low = number(dataset.low);
        point.high = number(dataset.high);
      }
      bySteps.set(step, point);
    }
    const steps = [...bySteps.keys()].sort((a, b) => a - b);
    const column = (name) => steps.map((step) => bySteps.get(step)[name]);
    return [steps, column("reward"), column("success"), column("unseen"), column("low"), column("high")];
  }

  draw() {
    const data = this.data();
    this.toggleAttribute("data-empty", data[0].length === 0);
    if (!data[0].length || !this.box.clientWidth) return;
    if (this.plot) this.plot.setData(data);
    else this.plot = new window.uPlot(this.options(), data, this.box);
  }

  resize() {
    if (this.plot) this.plot.setSize({ width: this.box.clientWidth, height: this.box.clientHeight });
    else this.schedule();
  }

  options() {
    const share = (u, values) => values.map((value) => `${Math.round(value * 100) / 100}`);
    const line = (name, more = {}) => {
      const ink = colour(this, name);
      return { stroke: ink, width: 2, points: { show: true, size: 6, fill: ink, filter: lonely }, spanGaps: true, ...more };
    };
    const edge = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true };
    const held = colour(this, "held-out");
    return {
      width: this.box.clientWidth,
      height: this.box.clientHeight,
      padding: [12, 12, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: (u, low, high) => [Math.min(0, low), Math.max(high, low + 4)] },
        y: { range: [0, 1] },
      },
      axes: [
        axis(this, { size: 28, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }),
        axis(this, { size: 38, values: share, splits: [0, 0.25, 0.5, 0.75, 1] }),
      ],
      series: [
        {},
        line("reward"),
        line("success"),
        line("held-out", { dash: [5, 4], points: { show: true, size: 8, fill: held, stroke: held } }),
        edge,
        edge,
      ],
      bands: [{ series: [5, 4], fill: colour(this, "held-out", 0.16) }],
      hooks: { setCursor: [(plot) => this.tell(plot)], ready: [(plot) => this.openOnClick(plot)] },
    };
  }

  tell(plot) {
    const place = plot.cursor.idx;
    if (place == null) {
      this.words.textContent = "";
      return;
    }
    const [step, reward, success, unseen, low, high] = plot.data.map((column) => column[place]);
    const percent = (value) => `${Math.round(value * 100)} %`;
    const parts = [`${this.dataset.stepWord} ${step}`];
    if (reward != null) parts.push(`${this.dataset.rewardWord} ${reward.toFixed(2)}`);
    if (success != null) parts.push(`${this.dataset.successWord} ${percent(success)}`);
    if (unseen != null) parts.push(`${this.dataset.heldOutWord} ${percent(unseen)} (${percent(low)} – ${percent(high)})`);
    this.words.textContent = parts.join(" · ");
  }

  openOnClick(plot) {
    plot.over.addEventListener("click", () => {
      const step = plot.data[0][plot.cursor.idx];
      if (step > 0) location.assign(this.dataset.groups + step);
    });
  }
}
customElements.define("reward-chart", RewardChart);
