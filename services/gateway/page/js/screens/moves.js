// What the player does in a turn: by tap, by drag, by button or key – all end here.
import { refusalText } from "../core/i18n.js";
import { move } from "../core/rack.js";
import { tileName } from "../core/tiles.js";
import { isSeated } from "../core/table.js";
import { shake } from "../ui/motion.js";

const ACTIONS = {
  drawStock: ["DRAW_STOCK", { draw_from_stock: {} }],
  drawDiscard: ["DRAW_DISCARD", { draw_from_discard: {} }],
  announceCift: ["ANNOUNCE_CIFT", { announce_cift: {} }],
  withdrawCift: ["WITHDRAW_CIFT", { withdraw_cift: {} }],
  showGosterge: ["SHOW_GOSTERGE", { show_gosterge: {} }],
};
const OWN = new Set([...Object.keys(ACTIONS), "tile", "slot", "discard", "finish", "returnToSeat"]);

/** The moves of a table screen. */
export class Moves {
  #screen;
  #isBusy = false;
  #flight = null;

  constructor(screen) {
    this.#screen = screen;
  }

  has(action) {
    return OWN.has(action);
  }

  do(action, element) {
    const { selected } = this.#screen;
    if (action === "tile") this.#tapTile(Number(element.dataset.slot));
    else if (action === "slot") this.#tapSlot(Number(element.dataset.slot));
    else if (action === "discard") this.discard(selected);
    else if (action === "finish") this.finish(selected);
    else if (action === "returnToSeat") this.#comeBack();
    else this.#simple(action);
  }

  /** Where the tile that was dragged away lay last; asked for once. */
  takeFlight() {
    const flight = this.#flight;
    this.#flight = null;
    return flight;
  }

  canDrag(element) {
    const { table } = this.#screen;
    if (!table || !isSeated(table)) return false;
    if (element.dataset.drag === "stock") return table.can.has("DRAW_STOCK");
    if (element.dataset.drag === "discard") return table.can.has("DRAW_DISCARD");
    return true;
  }

  /** Something was dropped: `place` is "slot:7", "discard" or "finish". */
  drop(element, place, box) {
    const screen = this.#screen;
    const [kind, slot] = place.split(":");
    const from = Number(element.dataset.slot ?? -1);
    if (element.dataset.drag === "tile" && kind === "slot") this.#moveTile(from, Number(slot));
    else if (element.dataset.drag === "tile" && kind === "discard") this.discard(from, box);
    else if (element.dataset.drag === "tile" && kind === "finish") this.finish(from);
    else if (element.dataset.drag !== "tile" && kind === "slot") {
      screen.wished = Number(slot);
      this.#flight = box;
      this.#simple(element.dataset.drag === "stock" ? "drawStock" : "drawDiscard");
    }
  }

  #moveTile(from, to) {
    const screen = this.#screen;
    screen.slots = move(screen.slots, from, to);
    screen.selected = -1;
    if (screen.newest === from) screen.newest = to;
    screen.focusSlot = to;
    screen.keepOrder();
    screen.render();
  }

  #tapTile(slot) {
    const screen = this.#screen;
    screen.selected = screen.selected === slot ? -1 : slot;
    screen.focusSlot = slot;
    screen.render();
  }

  #comeBack() {
    if (this.#screen.table.can.has("RETURN_TO_SEAT")) this.#screen.tryCommand("return_to_seat");
  }

  #tapSlot(slot) {
    if (this.#screen.selected >= 0) this.#moveTile(this.#screen.selected, slot);
  }

  async #simple(action) {
    const [needs, body] = ACTIONS[action];
    if (!this.#screen.table.can.has(needs)) return;
    await this.#act(body);
  }

  async #act(action, onRefused = null) {
    const screen = this.#screen;
    if (this.#isBusy || !screen.table.round?.turn) return;
    this.#isBusy = true;
    try {
      await screen.command("act", { turn: screen.table.round.turn.number, action });
    } catch (refusal) {
      screen.leaving = -1;
      screen.wished = -1;
      this.#flight = null;
      if (onRefused) onRefused(refusal);
      else screen.app.warn(refusalText(screen.t, refusal.reason));
    } finally {
      this.#isBusy = false;
      screen.render();
    }
  }

  /** Discard the tile of a slot. */
  async discard(slot, box = null) {
    const screen = this.#screen;
    if (!screen.slots[slot] || !screen.table.can.has("DISCARD") || this.#isBusy) return;
    screen.leaving = slot;
    this.#flight = box ?? document.querySelector(`.slot[data-slot="${slot}"] .tile`)?.getBoundingClientRect();
    screen.render();
    await this.#act({ discard: { tile: tileName(screen.slots[slot]) } });
  }

  /** Lay the tile of a slot on the gösterge. */
  async finish(slot) {
    const screen = this.#screen;
    if (!screen.slots[slot] || !screen.table.can.has("FINISH")) return;
    const tile = screen.slots[slot];
    await this.#act({ finish: { tile: tileName(tile) } }, (refusal) => this.#refusedFinish(refusal, tile));
  }

  async #refusedFinish(refusal, tile) {
    const screen = this.#screen;
    shake(document.querySelector(".rack"));
    if (refusal.reason !== "FINISH_REJECTED") screen.app.warn(refusalText(screen.t, refusal.reason));
    else await screen.arranging.explain(tile);
  }
}
