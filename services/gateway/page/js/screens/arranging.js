// Sorting the rack: by melds as the engine sees them (ArrangeRack), or simply by colour, number or pairs.
import { refusalText } from "../core/i18n.js";
import { groupsByColour, groupsByNumber, groupsByPairs, pack } from "../core/rack.js";
import { ownSeat } from "../core/table.js";
import { tileFrom } from "../core/tiles.js";

const SIMPLE = { colour: groupsByColour, number: groupsByNumber, pairs: groupsByPairs };
const EVERY_MS = 250;

/** Slots of the tiles that belong to no meld, where each tile of `loose` is found once. */
export function slotsOf(slots, loose) {
  const left = [...loose];
  const found = new Set();
  slots.forEach((tile, slot) => {
    const place = left.indexOf(tile);
    if (place < 0) return;
    left.splice(place, 1);
    found.add(slot);
  });
  return found;
}

/** The sorting of a table screen's rack. */
export class Arranging {
  #screen;

  constructor(screen) {
    this.#screen = screen;
  }

  async arrange(how) {
    const screen = this.#screen;
    const { round } = screen.table;
    if (!round?.rack.length) return;
    if (SIMPLE[how]) this.#lay(pack(SIMPLE[how](round.rack, round.okey)));
    else await this.#byMelds();
  }

  #lay(slots) {
    const screen = this.#screen;
    screen.slots = slots;
    screen.selected = -1;
    screen.newest = -1;
    screen.focusSlot = -1;
    screen.keepOrder();
    screen.render();
  }

  async #byMelds() {
    const screen = this.#screen;
    try {
      const { groups, loose, distance } = await this.#ask();
      this.#lay(pack(groups));
      screen.loose = distance === 0 ? slotsOf(screen.slots, loose) : new Set();
      screen.distance = distance;
      screen.app.say(distance === 0 ? screen.t("arrange.ready") : screen.t("arrange.distance", { distance }));
      screen.render();
    } catch (refusal) {
      screen.app.warn(refusalText(screen.t, refusal.reason));
    }
  }

  /** The engine sorts once in a while only: who asks again at once waits that long. */
  async #ask() {
    try {
      return await this.#askOnce();
    } catch (refusal) {
      if (refusal.reason !== "ARRANGE_TOO_OFTEN") throw refusal;
      await new Promise((done) => setTimeout(done, EVERY_MS));
      return this.#askOnce();
    }
  }

  async #askOnce() {
    const answer = await this.#screen.app.rpc.call("TableService", "ArrangeRack", { table_id: this.#screen.tableId });
    const isMeld = (meld) => meld.kind !== "MELD_KIND_UNSPECIFIED";
    return {
      groups: answer.melds.map((meld) => meld.tiles.map(tileFrom)),
      loose: answer.melds.filter((meld) => !isMeld(meld)).flatMap((meld) => meld.tiles.map(tileFrom)),
      distance: answer.distance,
    };
  }

  /** Why a finish with `tile` was none, and which tiles are to blame. */
  async explain(tile) {
    const screen = this.#screen;
    const { t } = screen;
    if (ownSeat(screen.table).hasCift) {
      screen.app.warn(`${t("finish.title")}. ${t("finish.binds")}`);
      return;
    }
    try {
      const { loose, distance } = await this.#ask();
      screen.loose = slotsOf(screen.slots, loose);
      const isOther = distance === 0 && loose[0] !== tile;
      screen.app.warn(`${t("finish.title")}. ${isOther ? t("finish.otherTile") : t("finish.missing", { distance })}`);
      screen.render();
    } catch (refusal) {
      screen.app.warn(`${t("finish.title")}. ${refusalText(t, refusal.reason)}`);
    }
  }
}
