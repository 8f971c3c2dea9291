// A TableView of the wire in the page's own words: every default filled in, numbers as numbers, tiles as "R7".
import { tileFrom } from "./tiles.js";

export const NOBODY = -1;

const word = (name, prefix, otherwise = "") =>
  !name || name.endsWith("_UNSPECIFIED") ? otherwise : name.slice(prefix.length);
const amount = (value) => Number(value ?? 0);
const tiles = (names) => (names ?? []).map(tileFrom);

/** The page's table for a protobuf-JSON TableView. */
export function tableFrom(view) {
  const config = view.config ?? {};
  return {
    id: config.table_id ?? "",
    variant: word(config.variant, "VARIANT_", "CANAK"),
    mode: word(config.mode, "MODE_", "NORMAL"),
    seatCount: config.seat_count ?? 0,
    stake: amount(config.stake),
    turnMs: amount(config.turn_timeout_ms),
    startPoints: config.start_points ?? 0,
    isPrivate: config.is_private ?? false,
    forfeitRating: (config.rules?.forfeit_milli_points ?? 20_000) / 1000,
    gostergePoints: config.rules?.gosterge_points ?? 1,
    returnMs: amount(config.rules?.away_timeout_ms),
    viewer: view.viewer ?? 0,
    phase: word(view.phase, "PHASE_"),
    matchId: view.match_id ?? "",
    matchNo: view.match_no ?? 0,
    kasa: amount(view.kasa),
    pot: amount(view.pot),
    commitment: view.commitment ?? "",
    seats: (view.seats ?? []).map(seatFrom),
    round: view.round ? roundFrom(view.round) : null,
    timers: (view.timers ?? []).map(timerFrom),
    can: new Set((view.legal_actions ?? []).map((name) => word(name, "LEGAL_ACTION_"))),
    forfeitPrice: amount(view.forfeit_price),
    seq: amount(view.seq),
    serverTimeMs: amount(view.server_time_ms),
  };
}

function seatFrom(seat) {
  return {
    seat: seat.seat ?? 0,
    status: word(seat.status, "SEAT_STATUS_"),
    control: word(seat.control, "CONTROL_"),
    player: seat.player ?? "",
    name: seat.display_name ?? "",
    botLevel: word(seat.bot_level, "BOT_LEVEL_"),
    awayDeadlineMs: amount(seat.away_deadline_ms),
    gaveUp: seat.gave_up ?? false,
    points: seat.points ?? 0,
    rackCount: seat.rack_count ?? 0,
    pile: tiles(seat.pile),
    taken: tiles(seat.taken),
    hasCift: seat.has_announced_cift ?? false,
    hasShown: seat.has_shown_gosterge ?? false,
    hasNonce: seat.has_nonce ?? false,
    isFill: seat.is_fill ?? false,
  };
}

function roundFrom(round) {
  return {
    no: round.round_no ?? 0,
    playing: (round.playing ?? []).map(Number),
    dealer: round.dealer ?? 0,
    starter: round.starter ?? 0,
    gosterge: tileFrom(round.gosterge),
    okey: tileFrom(round.okey),
    stockCount: round.stock_count ?? 0,
    turn: turnFrom(round.turn),
    takeable: tileFrom(round.takeable),
    isTieBreak: round.is_tie_break ?? false,
    rack: tiles(round.rack),
    drawn: tileFrom(round.drawn),
  };
}

const turnFrom = (turn) =>
  turn
    ? {
        number: turn.number ?? 0,
        seat: turn.seat ?? 0,
        deadlineMs: amount(turn.deadline_ms),
        hasDrawn: turn.has_drawn ?? false,
      }
    : null;

const timerFrom = (timer) => ({
  kind: word(timer.kind, "TIMER_KIND_"),
  deadlineMs: amount(timer.deadline_ms),
  seat: timer.seat ?? 0,
});

/** When the table's own clock of this kind is due; 0 where it does not run. */
export const deadlineOf = (table, kind) => table.timers.find((timer) => timer.kind === kind)?.deadlineMs ?? 0;

/** Whether the viewer has a seat at the table. */
export const isSeated = (table) => table.viewer !== NOBODY;

/** The viewer's seat, or null for a spectator. */
export const ownSeat = (table) => table.seats[table.viewer] ?? null;

/** Whether it is the viewer's turn. */
export const isOwnTurn = (table) =>
  isSeated(table) && table.phase === "PLAYING" && table.round?.turn?.seat === table.viewer;

/** Where a seat is drawn: oneself at the bottom, the next to play on the right (U1). */
export function placeOf(table, seat) {
  const distance = (seat - Math.max(table.viewer, 0) + table.seatCount) % table.seatCount;
  return (table.seatCount === 2 ? ["bottom", "top"] : ["bottom", "right", "top", "left"])[distance];
}

/** The playing seat that comes before another: whose pile it draws from; tie-breaks skip seats (K6). */
export function seatBefore(table, seat) {
  const playing = table.round?.playing ?? [];
  const place = playing.indexOf(seat);
  return place < 0 ? NOBODY : playing[(place + playing.length - 1) % playing.length];
}

/** Whose pile the viewer takes from; NOBODY for a spectator. */
export const takesFrom = (table) => seatBefore(table, table.viewer);
