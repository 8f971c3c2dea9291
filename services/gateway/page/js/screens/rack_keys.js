// The keyboard at the table: works wherever the focus is inside it, and never while one types or a dialog is open.
import { move, neighbour, stepOf } from "../core/rack.js";

const LETTERS = { s: "drawStock", a: "drawDiscard", d: "discard", f: "finish", g: "showGosterge", r: "returnToSeat" };
const ARROWS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

/** Listens at the root of a table screen. */
export class RackKeys {
  #screen;
  #root;
  #listener = (event) => this.#press(event);

  constructor(screen, root) {
    this.#screen = screen;
    this.#root = root;
    root.addEventListener("keydown", this.#listener);
  }

  close() {
    this.#root.removeEventListener("keydown", this.#listener);
  }

  #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, dialog")) return;
    const isTile = event.target.closest("#rack .tile") !== null;
    const screen = this.#screen;
    const letter = event.key.toLowerCase();
    if (isTile && ARROWS.has(event.key)) this.#arrow(event.key);
    else if (
      isTile &&
      (letter === "m" || (screen.picked >= 0 && (event.key === "Enter" || event.key === " " || event.key === "Escape")))
    )
      this.#pick();
    else if (letter === "c" || letter === "ç") this.#cift();
    else if (LETTERS[letter]) this.#letter(LETTERS[letter], isTile);
    else return;
    event.preventDefault();
  }

  #arrow(key) {
    const screen = this.#screen;
    if (screen.picked < 0) screen.focusSlot = neighbour(screen.slots, screen.focusSlot, key);
    else this.#movePicked(key);
    screen.render();
    this.#root.querySelector(`.slot[data-slot="${screen.focusSlot}"] .tile`)?.focus();
  }

  #movePicked(key) {
    const screen = this.#screen;
    const to = stepOf(screen.picked, key);
    screen.slots = move(screen.slots, screen.picked, to);
    screen.keepOrder();
    screen.picked = to;
    screen.focusSlot = to;
    screen.selected = -1;
  }

  #pick() {
    const screen = this.#screen;
    screen.picked = screen.picked >= 0 ? -1 : screen.focusSlot;
    screen.render();
  }

  #cift() {
    const { can } = this.#screen.table;
    this.#screen.moves.do(can.has("WITHDRAW_CIFT") ? "withdrawCift" : "announceCift");
  }

  #letter(action, isTile) {
    const screen = this.#screen;
    if ((action === "discard" || action === "finish") && screen.selected < 0 && isTile)
      screen.selected = screen.focusSlot;
    screen.moves.do(action);
  }
}
