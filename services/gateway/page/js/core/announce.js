// What happened at a table, in words: for the screen reader's live region and the line above the rack.
import { tileText } from "./i18n.js";
import { NOBODY } from "./table.js";
import { tileFrom } from "./tiles.js";

const SAID = {
  tile_drawn: (body) => (body.source === "DRAW_SOURCE_STOCK" ? "said.drewStock" : "said.drewDiscard"),
  tile_discarded: () => "said.discarded",
  cift_announced: () => "said.announcedCift",
  cift_withdrawn: () => "said.withdrewCift",
  gosterge_shown: () => "said.showedGosterge",
  turn_timed_out: () => "said.timedOut",
  stand_in_seated: () => "said.standIn",
  player_returned: () => "said.returned",
  seat_forfeited: () => "said.gaveUp",
  match_claimed: () => "said.claimed",
  seat_paid: () => "said.sat",
  round_dealt: () => "said.dealt",
  tie_break_started: () => "said.tieBreak",
  countdown_started: () => "said.countdown",
  nachspiel_started: () => "said.nachspiel",
  match_voided: () => "said.voided",
};

const FINISHES = { WON: "said.finished", STOCK_EMPTY: "said.stockEmpty", NO_STOCK_DRAWS: "said.noDraws" };

function keyOf(kind, body) {
  if (kind === "round_ended") return FINISHES[(body.result ?? "").replace("ROUND_RESULT_", "")] ?? null;
  return SAID[kind]?.(body) ?? null;
}

/** One event in words, or "" where nobody need hear of it. `nameOf(seat)` names a player, `okey` is the round's. */
export function eventText(t, { kind, body }, nameOf, okey) {
  const key = keyOf(kind, body);
  if (!key) return "";
  const tile = tileFrom(body.tile ?? body.laid);
  const name = (body.seat ?? NOBODY) === NOBODY ? "" : nameOf(body.seat);
  return t(key, { name, tile: tile ? tileText(t, tile, okey) : "" });
}

/** The events of an update, in words, in order. */
export const eventsText = (t, events, nameOf, okey) =>
  events
    .map((event) => eventText(t, event, nameOf, okey))
    .filter(Boolean)
    .join(" ");
