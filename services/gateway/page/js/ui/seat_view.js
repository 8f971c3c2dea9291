// A seat as everybody sees it: who plays, whose turn, how long, what was announced, and the discards beside it.
import { isSeated, placeOf, seatBefore, takesFrom } from "../core/table.js";
import { clockText } from "../core/clock.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { tileView } from "./tile_view.js";

/** The name that a seat goes by. */
export function seatName(t, table, seat) {
  const { player, name, control, botLevel } = table.seats[seat];
  if (seat === table.viewer && !name) return t("seat.you");
  if (name) return name;
  if (control === "HOUSE") return t(`bot.${botLevel || "NORMAL"}`);
  return player || t("seat.free");
}

const hueOf = (name) => [...name].reduce((hash, letter) => (hash * 31 + letter.codePointAt(0)) % 360, 7);

function face(t, table, seat) {
  const { status, control } = table.seats[seat];
  if (status === "FREE") return icon("plus");
  if (control === "HOUSE" || control === "STAND_IN") return icon("robot");
  return [...seatName(t, table, seat)][0]?.toLocaleUpperCase(t.language);
}

/** The picture of a seat; around it the turn's clock runs, where a person has one. */
function avatar({ t, clock }, table, seat, isTurn) {
  const isTicking = isTurn && table.seats[seat].control === "PERSON";
  const deadlineMs = table.round?.turn?.deadlineMs ?? 0;
  const left = isTicking ? clock.leftMs(deadlineMs) : 0;
  return h(
    "div",
    {
      class: `avatar${isTicking ? " is-ticking" : ""}`,
      "data-moves": true,
      "data-key": `avatar-${seat}`,
      "data-deadline": isTicking ? deadlineMs : null,
      "data-total": isTicking ? table.turnMs : null,
      vars: { "--hue": hueOf(seatName(t, table, seat)), "--share": Math.min(1, left / table.turnMs) },
    },
    h("span", { class: "avatar-face", "aria-hidden": "true" }, face(t, table, seat)),
    isTicking ? turnClock(t, left) : null,
  );
}

const turnClock = (t, left) =>
  h(
    "span",
    { class: "avatar-clock", "data-clock": true, role: "timer", "aria-label": t("turn.left") },
    clockText(left),
  );

function badges(ctx, table, seat) {
  const { t, clock } = ctx;
  const view = table.seats[seat];
  const found = [];
  const add = (kind, text, more = {}) => found.push(h("span", { class: `badge badge-${kind}`, ...more }, text));
  if (table.variant === "KLASIK" && (table.round || table.phase === "PAUSE"))
    add("points", t("seat.points", { points: view.points }));
  if (isPartner(table, seat)) add("partner", t("seat.partner"));
  if (view.hasCift) add("cift", t("seat.cift"));
  if (view.hasShown) add("gosterge", t("seat.shown"));
  if (isOut(table, seat)) add("out", t("seat.out"));
  if (view.gaveUp) add("gone", t("seat.gaveUp"));
  if (view.control === "STAND_IN")
    add("away", standInText(t, clock, view), { "data-deadline": view.awayDeadlineMs, "data-moves": true });
  if (table.round && table.round.dealer === seat) add("dealer", t("seat.dealer"));
  return found;
}

const standInText = (t, clock, view) => [
  `${t("seat.standIn")} `,
  h("span", { "data-clock": true }, clockText(clock.leftMs(view.awayDeadlineMs))),
];

const isPartner = (table, seat) => table.mode === "ESLI" && isSeated(table) && seat === (table.viewer + 2) % 4;

/** Whether the seat watches a tie-break of others (K6). */
const isOut = (table, seat) => table.round !== null && !table.round.playing.includes(seat);

const sitHere = (t, seat) =>
  h(
    "button",
    { class: "button is-small", type: "button", "data-do": "takeSeat", "data-seat-no": seat },
    t("seat.here"),
  );

function backs(t, count, seat) {
  return h(
    "div",
    { class: "backs", role: "img", "aria-label": t("seat.tiles", { count }), "data-seat-backs": seat },
    Array.from({ length: count }, () => h("span", { class: "back", "aria-hidden": "true" })),
  );
}

const OPEN_PHASES = new Set(["WAITING", "COUNTDOWN", "NACHSPIEL"]);
const STATUSES = { REQUESTED: "seat.paying", DECIDING: "seat.deciding", PAID: "seat.ready" };

function statusText(t, table, view) {
  const key = OPEN_PHASES.has(table.phase) && STATUSES[view.status];
  return key ? t(key) : "";
}

/** One player's place at the table. */
export function seatView(ctx, table, seat) {
  const { t } = ctx;
  const view = table.seats[seat];
  const isTurn = table.phase === "PLAYING" && table.round?.turn?.seat === seat;
  const place = placeOf(table, seat);
  const status = statusText(t, table, view);
  return h(
    "section",
    {
      class: `seat seat-${place}${isTurn ? " is-turn" : ""}${isOut(table, seat) ? " is-out" : ""}${view.status === "FREE" ? " is-free" : ""}`,
      "data-key": `seat-${seat}`,
      "data-seat": seat,
      "aria-label": t(isTurn ? "seat.labelTurn" : "seat.label", { name: seatName(t, table, seat) }),
    },
    avatar(ctx, table, seat, isTurn),
    h(
      "div",
      { class: "seat-words" },
      h(
        "span",
        { class: "seat-name" },
        seatName(t, table, seat),
        seat === table.viewer ? h("span", { class: "you" }, t("seat.youMark")) : null,
      ),
      status ? h("span", { class: "seat-status" }, status) : null,
      view.status === "FREE" && table.can.has("TAKE_SEAT") ? sitHere(t, seat) : null,
      h("span", { class: "badges" }, badges(ctx, table, seat)),
    ),
    view.rackCount && place !== "bottom" ? backs(t, view.rackCount, seat) : null,
  );
}

/** A seat's discards, the newest on top. The one that the viewer may take is a button; the own one takes a discard. */
export function pileView(ctx, table, seat, model) {
  const { t } = ctx;
  const { pile } = table.seats[seat];
  const name = seatName(t, table, seat);
  const isTakeable = takesFrom(table) === seat && table.can.has("DRAW_DISCARD");
  const isOwn = seat === table.viewer;
  const shown = pile.slice(-3);
  const stack = shown.map((tile, place) =>
    tileView(t, tile, table.round.okey, {
      class: `pile-tile pile-${shown.length - 1 - place}`,
      "data-key": `pile-${seat}-${pile.length - shown.length + place}`,
      "data-moves": true,
    }),
  );
  const attributes = {
    class: `pile pile-at-${placeOf(table, seat)}${isTakeable ? " is-open" : ""}${isOwn && model.isTarget ? " is-target" : ""}`,
    "data-key": `pile-${seat}`,
    "data-pile": seat,
    "aria-label": pileLabel(t, table, seat, { name, isTakeable, isOwn }),
  };
  if (isTakeable)
    return h("button", { ...attributes, type: "button", "data-do": "drawDiscard", "data-drag": "discard" }, stack);
  if (isOwn) {
    const isIdle = !table.can.has("DISCARD") || model.selected < 0;
    return h(
      "button",
      { ...attributes, type: "button", "data-do": "discard", "data-drop": "discard", "aria-disabled": String(isIdle) },
      stack,
    );
  }
  return h("div", { ...attributes, role: "group" }, stack);
}

function pileLabel(t, table, seat, { name, isTakeable, isOwn }) {
  const count = table.seats[seat].pile.length;
  if (isTakeable) return t("pile.take", { name });
  if (isOwn) return t("pile.own", { count });
  return t("pile.label", { name, count });
}

/** Whose pile lies between whom is told by the seats in order; a tie-break may skip some (K6). */
export const pilesShown = (table) =>
  table.round ? table.round.playing.filter((seat) => seatBefore(table, seat) >= 0) : [];
