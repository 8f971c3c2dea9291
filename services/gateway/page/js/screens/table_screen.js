// A table, followed and played: keeps the newest view and what is this player's own (order of tiles, what is chosen).
import { eventsText } from "../core/announce.js";
import { refusalText } from "../core/i18n.js";
import { emptyRack, reconcile } from "../core/rack.js";
import { Rows } from "../core/rows.js";
import { isOwnTurn, isSeated, ownSeat, tableFrom, takesFrom } from "../core/table.js";
import { show } from "../ui/dom.js";
import { fly, remember } from "../ui/motion.js";
import { Dragging } from "../ui/rack_drag.js";
import { seatName } from "../ui/seat_view.js";
import { tableView } from "../ui/table_view.js";
import { base64Of, newRequestId } from "../wire/rpc.js";
import { Arranging } from "./arranging.js";
import { Moves } from "./moves.js";
import { RackKeys } from "./rack_keys.js";
import { Results } from "./results.js";

const SHORT_MS = 10_000;

/** The screen of one table; `app` is the page around it. */
export class TableScreen {
  #root;
  #isHeld = false;
  #rows = new Rows();
  #warnedTurn = 0;

  constructor(app, root, tableId, { invite = "" } = {}) {
    this.app = app;
    this.#root = root;
    this.tableId = tableId;
    this.invite = invite;
    this.table = null;
    this.slots = emptyRack();
    this.selected = -1;
    this.picked = -1;
    this.focusSlot = -1;
    this.newest = -1;
    this.leaving = -1;
    this.loose = new Set();
    this.distance = null;
    this.wished = -1;
    this.moves = new Moves(this);
    this.arranging = new Arranging(this);
    this.results = new Results(this);
    this.keys = new RackKeys(this, root);
    this.dragging = new Dragging(root, {
      canDrag: (element) => this.moves.canDrag(element),
      onDrop: (element, place, box) => this.moves.drop(element, place, box),
    });
  }

  get t() {
    return this.app.t;
  }

  /** The name at a seat. */
  nameOf = (seat) => (this.table && seat >= 0 ? seatName(this.t, this.table, seat) : "");

  /** A snapshot or an update has come. */
  receive(message) {
    const step = this.#rows.take(message);
    if (!step) return;
    const { view, events } = step;
    const before = remember(this.#root);
    before.takenFrom = this.table ? this.#pileTakenBy(events) : -1;
    const was = this.table;
    this.table = tableFrom(view);
    this.#follow(was, events);
    this.render();
    if (!was) this.#root.querySelector("#felt")?.focus({ preventScroll: true });
    fly(this.#root, events, { before, viewer: this.table.viewer, newest: this.newest, own: this.moves.takeFlight() });
    this.#tell(was, events);
    this.results.follow(events, was);
    this.#addNonce();
  }

  #pileTakenBy(events) {
    const drawn = events.find(({ kind }) => kind === "tile_drawn");
    if (!drawn) return -1;
    return takesFrom({ ...this.table, viewer: drawn.body.seat ?? 0 });
  }

  #follow(was, events) {
    const { round } = this.table;
    const isNewDeal =
      events.some(({ kind }) => kind === "round_dealt") ||
      was?.matchNo !== this.table.matchNo ||
      was?.round?.no !== round?.no;
    if (isNewDeal) this.slots = emptyRack();
    const old = this.slots;
    this.slots = reconcile(this.slots, round?.rack ?? [], { from: this.leaving, to: this.wished });
    if (isNewDeal) this.#restoreOrder();
    const added = this.slots.findIndex((tile, slot) => tile && tile !== old[slot]);
    if (!isNewDeal && round?.drawn && added >= 0) this.newest = added;
    if (!round?.drawn) this.newest = -1;
    if (this.slots.join() !== old.join()) this.#unmark();
    this.wished = -1;
    this.#keepFocus();
  }

  #unmark() {
    if (this.slots[this.selected] === null || !this.slots[this.selected]) this.selected = -1;
    this.leaving = -1;
    this.picked = -1;
    this.loose = new Set();
    this.distance = null;
    this.app.store.keep(`okey.rack.${this.tableId}`, JSON.stringify(this.slots));
  }

  #restoreOrder() {
    const isRack = (slots) => Array.isArray(slots) && slots.length === this.slots.length;
    const kept = this.app.store.json(`okey.rack.${this.tableId}`, isRack);
    const held = (slots) => slots.filter(Boolean).sort().join();
    if (kept && held(kept) === held(this.slots)) this.slots = kept;
  }

  #keepFocus() {
    if (this.focusSlot < 0 || !this.slots[this.focusSlot]) this.focusSlot = this.slots.findIndex(Boolean);
  }

  /** Remember the order that the player has given the tiles. */
  keepOrder() {
    this.#unmark();
    this.#keepFocus();
  }

  #tell(was, events) {
    const nameOf = (seat) => seatName(this.t, this.table.seats[seat].status === "FREE" && was ? was : this.table, seat);
    const said = eventsText(this.t, events, nameOf, this.table.round?.okey ?? was?.round?.okey);
    const isMyTurnNow =
      isOwnTurn(this.table) && !(was && isOwnTurn(was) && was.round.turn.number === this.table.round.turn.number);
    const text = [said, isMyTurnNow ? this.t("said.yourTurn") : ""].filter(Boolean).join(" ");
    if (text) this.app.say(text);
    if (isMyTurnNow) this.app.buzz();
  }

  async #addNonce() {
    const seat = ownSeat(this.table);
    if (!seat || seat.hasNonce || !this.table.can.has("ADD_NONCE") || this.#isHeld) return;
    this.#isHeld = true;
    const nonce = crypto.getRandomValues(new Uint8Array(32));
    try {
      await this.command("add_nonce", { nonce: base64Of(nonce) });
      this.results.keepNonce(this.table.commitment, nonce);
    } catch {
      // Somebody else's tab, or too late: the deal stands without ours.
    } finally {
      this.#isHeld = false;
    }
  }

  /** Send a command of this table; raises Refusal. */
  command(kind, body = {}) {
    return this.app.connection.command(kind, { request_id: newRequestId(), ...body });
  }

  /** Send one; a refusal is told to the player. Whether it counted. */
  async tryCommand(kind, body) {
    try {
      await this.command(kind, body);
      return true;
    } catch (refusal) {
      this.app.warn(refusalText(this.t, refusal.reason));
      return false;
    }
  }

  #hint() {
    const { table, t } = this;
    if (!table.round || table.phase !== "PLAYING") return "";
    if (this.picked >= 0) return t("hint.moved");
    if (this.distance !== null)
      return this.distance === 0 ? t("arrange.ready") : t("arrange.distance", { distance: this.distance });
    if (isOwnTurn(table))
      return t(table.round.turn.hasDrawn || table.can.has("DISCARD") ? "hint.discard" : "hint.draw");
    return table.round.turn ? t("hint.others", { name: this.nameOf(table.round.turn.seat) }) : "";
  }

  /** Draw the screen anew. */
  render() {
    if (!this.table || this.dragging.isDragging) return;
    document.title = isOwnTurn(this.table) ? `● ${this.t("said.yourTurn")}` : "Okey";
    const model = {
      table: this.table,
      slots: this.slots,
      selected: this.selected,
      picked: this.picked,
      focusSlot: this.focusSlot,
      newest: this.newest,
      leaving: this.leaving,
      loose: this.loose,
      isTarget: this.selected >= 0 && this.table.can.has("DISCARD"),
      hint: this.#hint(),
      distance: this.distance,
    };
    const focused = document.activeElement?.closest?.("#rack .tile") ? this.focusSlot : -1;
    show(this.#root, tableView({ t: this.t, clock: this.app.clock }, model));
    if (focused >= 0) this.#root.querySelector(`.slot[data-slot="${this.focusSlot}"] .tile`)?.focus();
  }

  /** A button was pressed. */
  do(action, element) {
    if (this.moves.has(action)) this.moves.do(action, element);
    else if (action === "arrange") this.arranging.arrange(element.dataset.how);
    else this.results.do(action, element);
  }

  /** Whether there is a match here that the player is part of. */
  get isPlaying() {
    return this.table !== null && isSeated(this.table) && this.table.phase !== "CLOSED";
  }

  /** Say when the own time grows short, once a turn. */
  tick() {
    if (!this.table || !isOwnTurn(this.table)) return;
    const { number, deadlineMs } = this.table.round.turn;
    if (this.#warnedTurn === number || this.app.clock.leftMs(deadlineMs) > SHORT_MS) return;
    this.#warnedTurn = number;
    this.app.say(this.t("said.tenSeconds"));
  }

  /** Let go. */
  close() {
    this.keys.close();
  }
}
