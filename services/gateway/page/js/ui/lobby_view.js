// The lobby: the list of tables with its filters, ways to a match, and who one is.
import { chips } from "./centre_view.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";

const option = (t, key, value, chosen) => h("option", { value, selected: value === chosen }, t(key));

/** A labelled select; `choices` are `[value, words' key]`. */
export const select = (t, name, label, choices, chosen, input = "filter") =>
  h(
    "label",
    { class: "field" },
    h("span", null, t(label)),
    h(
      "select",
      { name, "data-input": input },
      choices.map(([value, key]) => option(t, key, value, chosen)),
    ),
  );

const check = (t, name, label, isOn, input = "filter") =>
  h(
    "label",
    { class: "field is-check" },
    h("input", { type: "checkbox", name, checked: isOn, "data-input": input }),
    h("span", null, t(label)),
  );

const VARIANTS = [
  ["", "filter.any"],
  ["VARIANT_CANAK", "variant.CANAK"],
  ["VARIANT_KLASIK", "variant.KLASIK"],
];
const MODES = [
  ["", "filter.any"],
  ["MODE_NORMAL", "mode.NORMAL"],
  ["MODE_SOLO", "mode.SOLO"],
  ["MODE_ESLI", "mode.ESLI"],
];
const SEATS = [
  ["", "filter.any"],
  ["2", "seats.2"],
  ["4", "seats.4"],
];
const STAKES = [
  ["", "filter.any"],
  ["50-500", "stakes.low"],
  ["500-5000", "stakes.middle"],
  ["5000-250000", "stakes.high"],
];
const SPEEDS = [
  ["", "filter.any"],
  ["0-30000", "speed.fast"],
  ["30000-60000", "speed.normal"],
  ["60000-120000", "speed.slow"],
];
const ORDERS = ["SOONEST", "NEWEST", "LARGEST_KASA", "LOWEST_STAKE", "HIGHEST_STAKE"].map((order) => [
  `TABLE_ORDER_${order}`,
  `order.${order}`,
]);

function filters(t, chosen) {
  return h(
    "details",
    { class: "filters", "data-key": "filters" },
    h("summary", null, t("filter.title")),
    h(
      "div",
      { class: "filter-fields" },
      select(t, "variant", "filter.variant", VARIANTS, chosen.variant),
      select(t, "mode", "filter.mode", MODES, chosen.mode),
      select(t, "seats", "filter.seats", SEATS, chosen.seats),
      select(t, "stakes", "filter.stake", STAKES, chosen.stakes),
      select(t, "speed", "filter.speed", SPEEDS, chosen.speed),
      select(t, "order", "filter.order", ORDERS, chosen.order),
      check(t, "joinable", "filter.joinable", chosen.joinable),
      check(t, "kasa", "filter.kasa", chosen.kasa),
    ),
  );
}

const word = (name, prefix) => (name ?? "").slice(prefix.length);

function seatDots(t, table) {
  const total = table.terms.seat_count;
  const taken = new Map(table.taken_seats.map((seat) => [seat.seat, seat]));
  const dot = (seat) => {
    const sitting = taken.get(seat);
    const kind = sitting ? (sitting.is_house ? "is-house" : "is-taken") : "is-free";
    return h("span", { class: `dot ${kind}`, title: sitting?.display_name ?? "" });
  };
  const names = table.taken_seats.map((seat) =>
    seat.is_house ? t("bot.short") : seat.display_name || t("seat.someone"),
  );
  return h(
    "span",
    {
      class: "dots",
      role: "img",
      "aria-label": t("list.seats", { taken: taken.size, total, names: names.join(", ") }),
    },
    Array.from({ length: total }, (_, seat) => dot(seat)),
  );
}

function tableRow(t, table) {
  const { terms } = table;
  const isKlasik = terms.variant === "VARIANT_KLASIK";
  const names = table.taken_seats.map((seat) =>
    seat.is_house ? t("bot.short") : seat.display_name || t("seat.someone"),
  );
  const mode = word(terms.mode, "MODE_");
  const facts = [
    mode !== "NORMAL" && mode ? t(`mode.${mode}`) : null,
    t("list.seconds", { seconds: Number(terms.turn_timeout_ms) / 1000 }),
    isKlasik ? t("list.points", { points: terms.start_points }) : null,
    Number(table.house_fill_after_ms) ? t("list.fill") : null,
    table.is_nachspiel ? t("list.nachspiel") : null,
  ];
  return h(
    "li",
    { class: `table-row${table.is_joinable ? " is-joinable" : ""}`, "data-key": table.table_id },
    h(
      "span",
      { class: "row-game" },
      h("strong", null, t(`variant.${word(terms.variant, "VARIANT_")}`)),
      h("span", { class: "row-facts" }, facts.filter(Boolean).join(" · ")),
    ),
    h("span", { class: "row-people" }, seatDots(t, table), h("span", { class: "row-names" }, names.join(", "))),
    h(
      "span",
      { class: "row-chips" },
      chips(t, Number(terms.stake), t("chips.stake")),
      Number(table.kasa) ? chips(t, Number(table.kasa), t("chips.kasa"), "chips-kasa") : null,
    ),
    table.is_joinable
      ? h(
          "button",
          { class: "button is-main", type: "button", "data-do": "join", "data-table": table.table_id },
          t("list.join"),
        )
      : h(
          "button",
          { class: "button", type: "button", "data-do": "watch", "data-table": table.table_id },
          t("list.watch"),
        ),
  );
}

function listView(t, model) {
  const isEmpty = model.tables !== null && model.tables.length === 0;
  return h(
    "section",
    { class: "list", "aria-labelledby": "list-title" },
    h("h2", { id: "list-title" }, t("list.title")),
    filters(t, model.filters),
    model.tables === null ? h("p", { class: "note" }, t("list.loading")) : null,
    isEmpty ? h("p", { class: "note" }, t("list.empty")) : null,
    h(
      "ul",
      { class: "table-list" },
      (model.tables ?? []).map((table) => tableRow(t, table)),
    ),
  );
}

function waysView(t) {
  const way = (action, title, note, art) =>
    h(
      "button",
      { class: `way way-${action}`, type: "button", "data-do": action },
      h("span", { class: "way-art", "aria-hidden": "true" }, icon(art)),
      h("strong", null, t(title)),
      h("span", { class: "way-note" }, t(note)),
    );
  return h(
    "section",
    { class: "ways", "aria-label": t("ways.label") },
    way("quick", "ways.quick", "ways.quickNote", "bolt"),
    way("solo", "ways.solo", "ways.soloNote", "robot"),
    way("create", "ways.create", "ways.createNote", "plus"),
  );
}

/** How quick match waits, honestly: who waits too, for how long others did, and that nothing is promised. */
export function ticketView(t, ticket, waitedMs) {
  const state = word(ticket.state, "TICKET_STATE_");
  const typical = Number(ticket.typical_wait_ms);
  return h(
    "section",
    { class: "ticket", role: "status", "data-key": "ticket" },
    h("span", { class: "spinner", "aria-hidden": "true" }),
    h(
      "div",
      { class: "ticket-words" },
      h("strong", null, t(`ticket.${state}`)),
      h("p", null, t("ticket.waited", { seconds: Math.floor(waitedMs / 1000) })),
      h("p", null, t("ticket.others", { count: Math.max(0, ticket.waiting_count - 1) })),
      h("p", null, typical ? t("ticket.typical", { seconds: Math.ceil(typical / 1000) }) : t("ticket.unknown")),
      ticket.rating_window ? h("p", null, t("ticket.window", { points: ticket.rating_window })) : null,
      ticket.party_code ? h("p", null, t("ticket.party"), " ", h("code", null, ticket.party_code)) : null,
    ),
    h("button", { class: "button", type: "button", "data-do": "cancelTicket" }, t("ticket.cancel")),
  );
}

/** The bar above every page but the table. */
export function topBar(t, model) {
  const link = (action, key, page) =>
    h(
      "button",
      { class: "tab", type: "button", "data-do": action, "aria-current": model.page === page ? "page" : null },
      t(key),
    );
  return h(
    "header",
    { class: "top-bar" },
    h("span", { class: "brand" }, h("span", { class: "brand-tile", "aria-hidden": "true" }, "1"), "Okey"),
    h(
      "nav",
      { class: "tabs", "aria-label": t("nav.label") },
      link("toLobby", "nav.lobby", "lobby"),
      link("toLeaders", "nav.leaders", "leaders"),
      link("toAccount", "nav.account", "account"),
    ),
    h(
      "button",
      {
        class: "me",
        type: "button",
        "data-do": "toAccount",
        "aria-label": t("nav.balance", { name: model.name, balance: model.balance ?? 0 }),
      },
      h("span", { class: "me-name" }, model.name),
      model.balance === null ? null : chips(t, model.balance, ""),
    ),
    h(
      "button",
      {
        class: "icon-button",
        type: "button",
        "data-do": "openMenu",
        "aria-label": t("menu.open"),
        title: t("menu.open"),
      },
      icon("menu"),
    ),
  );
}

/** The lobby. */
export const lobbyView = (t, model) =>
  h(
    "div",
    { class: "page" },
    topBar(t, model),
    h(
      "main",
      { class: "lobby", id: "main", tabindex: "-1" },
      h("h1", { class: "hidden" }, t("nav.lobby")),
      model.seatedAt ? backToTable(t) : null,
      model.ticket ? ticketView(t, model.ticket, model.waitedMs) : waysView(t),
      listView(t, model),
    ),
  );

const backToTable = (t) =>
  h(
    "section",
    { class: "back-to-table", role: "status" },
    h("p", null, t("lobby.seated")),
    h("button", { class: "button is-main", type: "button", "data-do": "backToTable" }, t("lobby.back")),
  );

/** Who comes in: a name is all a guest needs. */
export const welcomeView = (t, model) =>
  h(
    "main",
    { class: "welcome", id: "main" },
    h(
      "div",
      { class: "welcome-art", "aria-hidden": "true" },
      ["R1", "Y1", "B1", "K1"].map((tile) =>
        h("span", { class: `tile tile-${tile[0]}` }, h("span", { class: "tile-number" }, "1")),
      ),
    ),
    h("h1", null, "Okey"),
    h("p", null, t("welcome.text")),
    model.hasGuests
      ? h(
          "form",
          { class: "welcome-form", "data-submit": "signIn" },
          h(
            "label",
            { class: "field" },
            h("span", null, t("welcome.name")),
            h("input", { name: "name", maxlength: 24, required: true, autocomplete: "nickname", autofocus: true }),
          ),
          h("button", { class: "button is-main", type: "submit" }, t("welcome.play")),
        )
      : h("p", { class: "note" }, t("welcome.noGuests")),
    model.problem ? h("p", { class: "problem", role: "alert" }, model.problem) : null,
    h(
      "div",
      { class: "languages", role: "group", "aria-label": t("menu.language") },
      model.languages.map(([code, name]) =>
        h(
          "button",
          {
            class: "button is-small",
            type: "button",
            "data-do": "language",
            "data-language": code,
            lang: code,
            "aria-pressed": String(code === t.language),
          },
          name,
        ),
      ),
    ),
  );
