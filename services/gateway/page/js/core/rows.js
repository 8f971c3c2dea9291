// What a table's stream brings, one step at a time: a view, and everything that has happened since the view before.

const eventOf = (event) => {
  const [kind, body] = Object.entries(event)[0] ?? ["", {}];
  return { kind, body };
};

/** Rows that were missed come without a view; what happened in them is kept for the next one that has it. */
export class Rows {
  #kept = [];

  /** `{view, events}` of a PlayResponse, or null while there is no view yet. */
  take({ snapshot, update }) {
    if (snapshot) this.#kept = [];
    else this.#kept.push(...(update?.events ?? []).map(eventOf));
    const view = snapshot ?? update?.view;
    if (!view) return null;
    const events = this.#kept;
    this.#kept = [];
    return { view, events };
  }
}
