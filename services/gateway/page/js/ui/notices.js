// What is said aloud (a live region) and what passes over the screen for a moment.
import { h } from "./dom.js";

const SHOWN_MS = 5_000;

/** The notices of the page. */
export class Notices {
  #live = document.getElementById("live");
  #toasts = document.getElementById("toasts");
  #hiding = 0;

  /** For the screen reader alone. */
  say(text) {
    this.#live.textContent = text;
  }

  /** For the eyes alone: above everything, an open dialog too. */
  show(text, kind = "note") {
    const toast = h("p", { class: `toast is-${kind}` }, text);
    this.#toasts.replaceChildren(toast);
    this.#toasts.hidePopover();
    this.#toasts.showPopover();
    clearTimeout(this.#hiding);
    this.#hiding = setTimeout(() => this.#toasts.hidePopover(), SHOWN_MS);
  }

  /** Something went wrong: for both. */
  warn(text) {
    this.say(text);
    this.show(text, "problem");
  }
}
