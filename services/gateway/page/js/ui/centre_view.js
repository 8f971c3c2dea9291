// The middle of the table: stock, gösterge, okey, pot and kasa; and what is said while nothing is played.
import { clockText } from "../core/clock.js";
import { tileText } from "../core/i18n.js";
import { deadlineOf, isSeated } from "../core/table.js";
import { h } from "./dom.js";
import { tileView } from "./tile_view.js";

/** Chips with their sign. */
export const chips = (t, amount, label, kind = "") =>
  h(
    "span",
    { class: `chips ${kind}`.trim() },
    h("span", { class: "chips-label" }, label),
    h("span", { class: "chip", "aria-hidden": "true" }),
    h("span", { class: "chips-amount" }, t.number(amount)),
  );

function stockView(t, table) {
  const count = table.round.stockCount;
  const canDraw = table.can.has("DRAW_STOCK");
  const layers = Array.from({ length: Math.min(4, Math.ceil(count / 12)) }, (_, layer) =>
    h("span", { class: `tile tile-back stock-${layer}`, "aria-hidden": "true" }),
  );
  return h(
    "button",
    {
      class: `stock${canDraw ? " is-open" : ""}`,
      type: "button",
      "data-do": "drawStock",
      "data-drag": "stock",
      "data-key": "stock",
      "data-stock": true,
      "aria-disabled": String(!canDraw),
      "aria-label": t(canDraw ? "stock.draw" : "stock.label", { count }),
    },
    layers,
    h("span", { class: "stock-count", "aria-hidden": "true" }, String(count)),
  );
}

function gostergeView(t, table, model) {
  const { gosterge, okey } = table.round;
  const canFinish = table.can.has("FINISH");
  return h(
    "div",
    { class: "indicator" },
    h(
      "button",
      {
        class: `gosterge${canFinish ? " can-finish" : ""}${canFinish && model.isTarget ? " is-target" : ""}`,
        type: "button",
        "data-do": "finish",
        "data-drop": "finish",
        "data-key": "gosterge",
        "aria-disabled": String(!canFinish || model.selected < 0),
        "aria-label": t(canFinish ? "gosterge.finish" : "gosterge.label", { tile: tileText(t, gosterge) }),
      },
      tileView(t, gosterge),
      h("span", { class: "caption", "aria-hidden": "true" }, t("gosterge.caption")),
    ),
    h("div", { class: "okey" }, tileView(t, okey, okey), h("span", { class: "caption" }, t("okey.caption"))),
  );
}

/** Stock, gösterge and okey of the running round. */
export const roundCentre = (t, table, model) =>
  h("div", { class: "centre", "data-key": "centre" }, stockView(t, table), gostergeView(t, table, model));

const timed = (ctx, deadlineMs) =>
  h(
    "span",
    { class: "big-clock", "data-deadline": deadlineMs, role: "timer" },
    h("span", { "data-clock": true }, clockText(ctx.clock.leftMs(deadlineMs))),
  );

const PHASE_CLOCKS = { COUNTDOWN: "COUNTDOWN", PAUSE: "ROUND_PAUSE", NACHSPIEL: "NACHSPIEL" };

/** What the table waits for, while no round is played. */
export function waitCentre(ctx, table) {
  const { t } = ctx;
  const free = table.seats.filter((seat) => seat.status === "FREE").length;
  const deadline = deadlineOf(table, PHASE_CLOCKS[table.phase] ?? "");
  const fill = deadlineOf(table, "HOUSE_FILL");
  return h(
    "div",
    { class: "centre centre-wait", "data-key": "wait" },
    h("p", { class: "wait-title" }, t(`phase.${table.phase}`, { free })),
    deadline ? timed(ctx, deadline) : null,
    fill && table.phase === "WAITING" ? h("p", { class: "wait-note" }, t("wait.fill"), " ", timed(ctx, fill)) : null,
    table.phase === "WAITING" && isSeated(table) ? h("p", { class: "wait-note" }, t("wait.leaveFree")) : null,
    table.phase === "WAITING"
      ? h("button", { class: "button", type: "button", "data-do": "invite" }, t("invite.button"))
      : null,
    table.can.has("TAKE_SEAT")
      ? h(
          "button",
          { class: "button is-main", type: "button", "data-do": "takeSeat" },
          t("seat.take", { stake: table.stake }),
        )
      : null,
    table.can.has("PLAY_ON") ? playOn(t, table) : null,
  );
}

const playOn = (t, table) =>
  h(
    "div",
    { class: "play-on" },
    h("p", null, t("nachspiel.offer", { kasa: table.kasa, stake: table.stake })),
    h(
      "button",
      { class: "button is-main", type: "button", "data-do": "playOn" },
      t("nachspiel.playOn", { stake: table.stake }),
    ),
    h("button", { class: "button", type: "button", "data-do": "leave" }, t("nachspiel.leave")),
  );
