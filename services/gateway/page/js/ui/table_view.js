// The whole table screen: a bar above, seats and piles around the middle, actions and the own rack below.
import { isOwnTurn, isSeated } from "../core/table.js";
import { chips, roundCentre, waitCentre } from "./centre_view.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { rackView } from "./rack_view.js";
import { pilesShown, pileView, seatView } from "./seat_view.js";

const iconButton = (name, label, action) =>
  h(
    "button",
    { class: "icon-button", type: "button", "data-do": action, title: label, "aria-label": label },
    icon(name),
  );

const roundText = (t, { no, isTieBreak }) => t(isTieBreak ? "table.tieBreak" : "table.round", { round: no });

function barView(t, table) {
  const isKlasik = table.variant === "KLASIK";
  return h(
    "header",
    { class: "table-bar" },
    iconButton("back", t("table.toLobby"), "toLobby"),
    h(
      "h1",
      { class: "table-title" },
      t(`variant.${table.variant}`),
      table.mode === "NORMAL" ? null : h("span", { class: "mode" }, ` · ${t(`mode.${table.mode}`)}`),
      table.round && isKlasik ? h("span", { class: "round-no" }, roundText(t, table.round)) : null,
    ),
    h(
      "div",
      { class: "purse" },
      chips(t, table.stake, t("chips.stake"), "chips-stake"),
      table.pot ? chips(t, table.pot, t("chips.pot"), "chips-pot") : null,
      isKlasik ? null : chips(t, table.kasa, t("chips.kasa"), "chips-kasa"),
    ),
    table.can.has("CLAIM_MATCH")
      ? h("button", { class: "button is-main", type: "button", "data-do": "claimMatch" }, t("claim.button"))
      : null,
    table.can.has("FORFEIT")
      ? h("button", { class: "button is-quiet", type: "button", "data-do": "askForfeit" }, t("forfeit.button"))
      : null,
    table.can.has("LEAVE")
      ? h("button", { class: "button is-quiet", type: "button", "data-do": "leave" }, t("table.leave"))
      : null,
    table.matchNo > 0 ? iconButton("scale", t("fair.open"), "openFairness") : null,
    iconButton("menu", t("menu.open"), "openMenu"),
  );
}

const feltParts = (ctx, table, model) => [
  table.seats.map(({ seat }) => seatView(ctx, table, seat)),
  table.round ? pilesShown(table).map((seat) => pileView(ctx, table, seat, model)) : null,
  table.round && table.phase === "PLAYING" ? roundCentre(ctx.t, table, model) : waitCentre(ctx, table),
];

function action(t, key, name, { isMain = false, isOff = false, shortcut = "" } = {}) {
  return h(
    "button",
    {
      class: `button${isMain ? " is-main" : ""}`,
      type: "button",
      "data-do": name,
      "data-key": `do-${name}`,
      "aria-disabled": String(isOff),
      "aria-keyshortcuts": shortcut || null,
    },
    t(key),
  );
}

function turnActions(t, table, model) {
  const can = (name) => table.can.has(name);
  const isNothingChosen = model.selected < 0;
  return [
    can("DRAW_STOCK") ? action(t, "act.drawStock", "drawStock", { isMain: true, shortcut: "S" }) : null,
    can("DRAW_DISCARD") ? action(t, "act.drawDiscard", "drawDiscard", { shortcut: "A" }) : null,
    can("DISCARD")
      ? action(t, "act.discard", "discard", { isMain: !isNothingChosen, isOff: isNothingChosen, shortcut: "D" })
      : null,
    can("FINISH") ? action(t, "act.finish", "finish", { isOff: isNothingChosen, shortcut: "F" }) : null,
    can("SHOW_GOSTERGE") ? action(t, "act.showGosterge", "showGosterge", { shortcut: "G" }) : null,
    can("ANNOUNCE_CIFT") ? action(t, "act.announceCift", "announceCift", { shortcut: "C" }) : null,
    can("WITHDRAW_CIFT") ? action(t, "act.withdrawCift", "withdrawCift", { shortcut: "C" }) : null,
  ];
}

const ARRANGE = ["best", "colour", "number", "pairs"];

function arrangeActions(t) {
  return h(
    "div",
    { class: "arrange", role: "group", "aria-label": t("arrange.label") },
    ARRANGE.map((how) =>
      h(
        "button",
        {
          class: "button is-small",
          type: "button",
          "data-do": "arrange",
          "data-how": how,
          "data-key": `arrange-${how}`,
        },
        t(`arrange.${how}`),
      ),
    ),
  );
}

function actionsView(t, table, model) {
  if (table.can.has("RETURN_TO_SEAT"))
    return h(
      "div",
      { class: "actions is-away", role: "group", "aria-label": t("act.label") },
      h("p", { class: "away-note" }, t("standIn.note")),
      action(t, "standIn.return", "returnToSeat", { isMain: true, shortcut: "R" }),
    );
  return h(
    "div",
    { class: "actions" },
    h("div", { class: "turn-actions", role: "group", "aria-label": t("act.label") }, turnActions(t, table, model)),
    h("p", { class: `hint${isOwnTurn(table) ? " is-own" : ""}`, "data-missing": model.distance }, model.hint),
    arrangeActions(t),
  );
}

/** The table; `model` is what the table screen keeps beside the server's view. */
export function tableView(ctx, model) {
  const { t } = ctx;
  const { table } = model;
  const hasRack = isSeated(table) && table.round && table.round.rack.length > 0;
  return h(
    "div",
    {
      class: `table-screen seats-${table.seatCount}${isOwnTurn(table) ? " is-own-turn" : ""}`,
      "data-phase": table.phase,
    },
    barView(t, table),
    h(
      "main",
      { class: "felt", id: "felt", tabindex: "-1", "aria-label": t("table.label") },
      feltParts(ctx, table, model),
    ),
    hasRack
      ? h("div", { class: "own-side", "data-key": "own" }, actionsView(t, table, model), rackView(t, model))
      : h(
          "div",
          { class: "own-side is-watching", "data-key": "watch" },
          h("p", { class: "hint" }, isSeated(table) ? model.hint : t("table.watching")),
        ),
  );
}
