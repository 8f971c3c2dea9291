// What this browser keeps for the page. Where it keeps nothing (blocked, full), the page remembers for as long as it is open.

const PREFIX = "okey.";
const ORDER = "okey.order";
const PASSING = /^okey\.(invite|nonce|rack|seen)\./;
const LASTING = new Set(["okey.language", "okey.theme", "okey.session", "okey.reloaded", ORDER]);
const MOST_PASSING = 200;

/** Texts and JSON by key; no method ever throws. `open()` gives the browser's storage, and may throw. */
export class Store {
  #storage = null;
  #memory = new Map();

  constructor(open) {
    try {
      this.#storage = open();
    } catch {
      // Blocked by the browser's settings.
    }
    this.#sweep(MOST_PASSING);
  }

  /** The text that is kept, or "". */
  text(key) {
    if (this.#memory.has(key)) return this.#memory.get(key);
    return this.#quietly(() => this.#storage.getItem(key)) ?? "";
  }

  /** The JSON that is kept, if `isFit` takes it, else null: another version, or a person, may have written anything. */
  json(key, isFit) {
    try {
      const found = JSON.parse(this.text(key));
      return isFit(found) ? found : null;
    } catch {
      return null;
    }
  }

  /** Keep a text. Whether it outlives the page. */
  keep(key, text) {
    if (PASSING.test(key)) this.#note(key);
    const isKept = this.#put(key, text) || (this.#sweep(MOST_PASSING / 4), this.#put(key, text));
    if (isKept) this.#memory.delete(key);
    else this.#memory.set(key, text);
    return isKept;
  }

  drop(key) {
    this.#memory.delete(key);
    this.#quietly(() => this.#storage.removeItem(key));
  }

  #put(key, text) {
    const isDone = this.#quietly(() => {
      this.#storage.setItem(key, text);
      return true;
    });
    return isDone === true;
  }

  #order() {
    return this.json(ORDER, Array.isArray) ?? [];
  }

  /** The keys of tables and deals from the one unused for longest to the newest. */
  #note(key) {
    const order = this.#order();
    if (order.at(-1) === key) return;
    this.#put(ORDER, JSON.stringify([...order.filter((other) => other !== key), key]));
    if (order.length >= MOST_PASSING) this.#sweep(MOST_PASSING);
  }

  /** Remove what nothing reads any more, and the oldest keys of tables and deals but `most`. */
  #sweep(most) {
    const keys = this.#quietly(() => Object.keys(this.#storage).filter((key) => key.startsWith(PREFIX))) ?? [];
    const order = this.#order();
    const known = new Set(order);
    const unordered = keys.filter((key) => PASSING.test(key) && !known.has(key));
    const all = [...unordered, ...order.filter((key) => keys.includes(key))];
    const passed = all.slice(0, Math.max(0, all.length - most));
    const foreign = keys.filter((key) => !PASSING.test(key) && !LASTING.has(key));
    for (const key of [...passed, ...foreign]) this.#quietly(() => this.#storage.removeItem(key));
    if (passed.length || unordered.length) this.#put(ORDER, JSON.stringify(all.slice(passed.length)));
  }

  #quietly(doing) {
    if (this.#storage === null) return undefined;
    try {
      return doing();
    } catch {
      return undefined; // full, or taken away while the page is open
    }
  }
}
