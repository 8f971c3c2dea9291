// A page that stays open while its gateway is upgraded: it loads itself again, when nobody is in the middle of something.

const KEY = "okey.reloaded";
const PAUSE_MS = 5 * 60_000;

/**
 * `build` is the page's own, "" where it knows none; `store` is the tab's. While gateways of two builds are up, the page
 * meets both in turn: it reloads once in five minutes at most, and never where a reload would sign the player out.
 */
export class Upgrade {
  #build;
  #store;
  #reload;
  #now;

  constructor(build, store, reload, now = () => Date.now()) {
    this.#build = build;
    this.#store = store;
    this.#reload = reload;
    this.#now = now;
    this.isDue = false;
  }

  /** A gateway has told its page's build. */
  hear(build) {
    this.isDue = Boolean(build && this.#build) && build !== this.#build;
  }

  /** Nobody is in the middle of anything: reload, if that is due. */
  take() {
    if (!this.isDue) return;
    const sinceMs = Math.abs(this.#now() - Number(this.#store.text(KEY)));
    if (sinceMs < PAUSE_MS || !this.#store.keep(KEY, String(this.#now()))) return;
    this.isDue = false;
    this.#reload();
  }
}
