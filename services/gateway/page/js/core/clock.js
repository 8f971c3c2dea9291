// The server's clock, as well as it can be known here: each message tells when it was made, some time before it came.

const KEPT = 20;

/** Follows the server's time by its messages. `now` gives this machine's monotonic milliseconds. */
export class ServerClock {
  #now;
  #offsets = [];

  constructor(now) {
    this.#now = now;
  }

  /** A message that was made at `serverTimeMs` has come. */
  hear(serverTimeMs) {
    if (!serverTimeMs) return;
    this.#offsets.push(serverTimeMs - this.#now());
    if (this.#offsets.length > KEPT) this.#offsets.shift();
  }

  /** Whether anything is known of the server's time. */
  get isSet() {
    return this.#offsets.length > 0;
  }

  /** The server's time now; the message that travelled least tells best. */
  nowMs() {
    const offset = this.#offsets.length ? Math.max(...this.#offsets) : 0;
    return this.#now() + offset;
  }

  /** Milliseconds left until a moment, never negative. */
  leftMs(deadlineMs) {
    return Math.max(0, deadlineMs - this.nowMs());
  }

  /** Forget everything: after a break the machine may have slept. */
  reset() {
    this.#offsets = [];
  }
}

/** "1:05" or "9"; a started second counts whole. */
export function clockText(leftMs) {
  const seconds = Math.ceil(leftMs / 1000);
  if (seconds < 60) return String(seconds);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
