// <log-tail>: a log that follows its newest line until it is scrolled up, and shows one level and above.

const LEVEL_KEY = "artweb.log.level";

class LogTail extends HTMLElement {
  connectedCallback() {
    this.scroller = this.querySelector("[data-role=scroll]");
    this.jump = this.querySelector("[data-role=jump]");
    this.level = this.querySelector("[data-role=level]");
    this.lines = this.scroller.querySelector("ol");
    this.following = true;
    this.unseen = 0;
    const remembered = localStorage.getItem(LEVEL_KEY);
    if ([...this.level.options].some((option) => option.value === remembered)) this.level.value = remembered;
    this.showLevel();
    this.level.addEventListener("change", () => {
      localStorage.setItem(LEVEL_KEY, this.level.value);
      this.showLevel();
    });
    this.scroller.addEventListener("scroll", () => this.noticeScroll(), { passive: true });
    this.jump.addEventListener("click", () => this.toLatest());
    this.observer = new MutationObserver((records) => this.added(records));
    this.observer.observe(this.lines, { childList: true });
    this.toLatest();
  }

  disconnectedCallback() {
    this.observer?.disconnect();
  }

  showLevel() {
    this.dataset.level = this.level.value;
    this.toLatest();
  }

  noticeScroll() {
    const below = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
    this.following = below < 24;
    if (this.following) this.unseen = 0;
    this.showJump();
  }

  added(records) {
    if (this.following) {
      this.toLatest();
      return;
    }
    for (const record of records) {
      for (const node of record.addedNodes) {
        if (node.nodeType === 1 && node.nextElementSibling === null && node.offsetParent !== null) this.unseen += 1;
      }
    }
    this.showJump();
  }

  toLatest() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.following = true;
    this.unseen = 0;
    this.showJump();
  }

  showJump() {
    this.jump.hidden = this.following;
    this.jump.textContent = this.unseen ? `${this.dataset.newWords} (${this.unseen})` : this.dataset.newWords;
  }
}
customElements.define("log-tail", LogTail);
