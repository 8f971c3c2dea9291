// What is said aloud (a live region) and what passes over the screen for a moment.
import { h } from "./dom.js";

const SHOWN_MS = 5_000;

/** The notices of the page. */
export class Notices {
  #live = document.getElementById("live");
  #toasts = document.getElementById("toasts");

  /** For the screen reader alone. */
  say(text) {
    this.#live.textContent = text;
  }

  /** For the eyes alone. */
  show(text, kind = "note") {
    const toast = h("p", { class: `toast is-${kind}` }, text);
    this.#toasts.replaceChildren(toast);
    setTimeout(() => toast.remove(), SHOWN_MS);
  }

  /** Something went wrong: for both. */
  warn(text) {
    this.say(text);
    this.show(text, "problem");
  }
}
