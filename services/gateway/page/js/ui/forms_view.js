// The forms: a new table, quick match, and what the menu offers.
import { h } from "./dom.js";
import { select } from "./lobby_view.js";

const BOTS = ["EASY", "NORMAL", "STRONG"].map((level) => [`BOT_LEVEL_${level}`, `level.${level}`]);
const POINTS = ["3", "5", "10", "15", "20"].map((points) => [points, `points.${points}`]);
const SECONDS = ["15000", "30000", "60000", "120000"].map((ms) => [ms, `turn.${Number(ms) / 1000}`]);
const FILLS = [
  ["0", "fill.never"],
  ["15000", "fill.15"],
  ["60000", "fill.60"],
];

const variants = [
  ["VARIANT_CANAK", "variant.CANAK"],
  ["VARIANT_KLASIK", "variant.KLASIK"],
];
const seats = [
  ["2", "seats.2"],
  ["4", "seats.4"],
];

/** What the form starts with. */
export const NEW_TABLE = {
  variant: "VARIANT_CANAK",
  mode: "MODE_NORMAL",
  seats: "4",
  stake: "50",
  turn: "60000",
  points: "20",
  bots: "BOT_LEVEL_NORMAL",
  fill: "0",
  isPrivate: false,
  party: "alone",
  partyCode: "",
};

const PARTIES = ["alone", "open", "join"].map((party) => [party, `party.${party}`]);

const codeField = (t, chosen) =>
  h(
    "label",
    { class: "field" },
    h("span", null, t("form.partyCode")),
    h("input", {
      name: "partyCode",
      value: chosen.partyCode,
      required: true,
      autocomplete: "off",
      "data-input": "form",
    }),
  );

const stakeField = (t, chosen) =>
  h(
    "label",
    { class: "field" },
    h("span", null, t("form.stake")),
    h("input", {
      name: "stake",
      type: "number",
      min: 50,
      max: 250000,
      step: 50,
      value: chosen.stake,
      inputmode: "numeric",
      "data-input": "form",
      required: true,
    }),
  );

const modes = (chosen) => {
  const all = [["MODE_NORMAL", "mode.NORMAL"]];
  if (chosen.variant === "VARIANT_CANAK" && chosen.seats === "4") all.push(["MODE_ESLI", "mode.ESLI"]);
  return all;
};

function fields(t, kind, chosen) {
  const isKlasik = chosen.variant === "VARIANT_KLASIK";
  const isSolo = kind === "solo";
  const isParty = kind === "quick" && chosen.mode === "MODE_ESLI" && modes(chosen).length > 1;
  return [
    isSolo ? null : select(t, "variant", "form.variant", variants, chosen.variant, "form"),
    select(t, "seats", "form.seats", seats, chosen.seats, "form"),
    isSolo ? null : select(t, "mode", "form.mode", modes(chosen), chosen.mode, "form"),
    stakeField(t, chosen),
    select(t, "turn", "form.turn", SECONDS, chosen.turn, "form"),
    isKlasik && !isSolo ? select(t, "points", "form.points", POINTS, chosen.points, "form") : null,
    isSolo ? select(t, "bots", "form.bots", BOTS, chosen.bots, "form") : null,
    isSolo || isKlasik ? null : select(t, "fill", "form.fill", FILLS, chosen.fill, "form"),
    isParty ? select(t, "party", "form.party", PARTIES, chosen.party, "form") : null,
    isParty && chosen.party === "join" ? codeField(t, chosen) : null,
    kind === "create"
      ? h(
          "label",
          { class: "field is-check" },
          h("input", { type: "checkbox", name: "isPrivate", checked: chosen.isPrivate, "data-input": "form" }),
          h("span", null, t("form.private")),
        )
      : null,
  ];
}

/** The form of `kind` "create", "solo" or "quick". */
export const playForm = (t, kind, chosen, problem) =>
  h(
    "form",
    { class: "play-form", "data-submit": kind, "data-key": `form-${kind}` },
    h("p", { class: "note" }, t(`form.${kind}Note`)),
    h("div", { class: "form-fields" }, fields(t, kind, chosen)),
    problem ? h("p", { class: "problem", role: "alert" }, problem) : null,
    h("button", { class: "button is-main", type: "submit" }, t(`form.${kind}Go`, { stake: Number(chosen.stake) })),
  );

/** The terms that a form asks for, as the lobby takes them. */
export function termsOf(kind, chosen) {
  const isKlasik = kind !== "solo" && chosen.variant === "VARIANT_KLASIK";
  return {
    variant: isKlasik ? "VARIANT_KLASIK" : "VARIANT_CANAK",
    mode:
      kind === "solo"
        ? "MODE_SOLO"
        : modes(chosen).some(([mode]) => mode === chosen.mode)
          ? chosen.mode
          : "MODE_NORMAL",
    seat_count: Number(chosen.seats),
    stake: String(Math.round(Number(chosen.stake))),
    turn_timeout_ms: chosen.turn,
    start_points: isKlasik ? Number(chosen.points) : 0,
  };
}

/** The wish for a match that the form says, alone or in a party of two (O2). */
export function ticketRequest(chosen) {
  const request = { terms: termsOf("quick", chosen) };
  const isParty = request.terms.mode === "MODE_ESLI";
  if (isParty && chosen.party === "join") return { party_code: chosen.partyCode.trim().toLowerCase() };
  if (isParty && chosen.party === "open") request.open_party = true;
  if (Number(chosen.fill) && request.terms.variant === "VARIANT_CANAK") request.house_fill_after_ms = chosen.fill;
  return request;
}

/** The filters of the list as a ListTablesRequest. */
export function listRequest({ variant, mode, seats: seatCount, stakes, speed, order, joinable, kasa }) {
  const [minStake, maxStake] = (stakes || "0-0").split("-");
  const [minTurn, maxTurn] = (speed || "0-0").split("-");
  const request = {
    min_stake: minStake,
    max_stake: maxStake,
    min_turn_timeout_ms: minTurn,
    max_turn_timeout_ms: maxTurn,
    only_joinable: joinable,
    only_with_kasa: kasa,
    order,
  };
  if (variant) request.variant = variant;
  if (mode) request.mode = mode;
  if (seatCount) request.seat_count = Number(seatCount);
  return request;
}

/** Language, colours, help and the way out. */
export const menuView = (t, { languages, theme, isSignedIn }) =>
  h(
    "div",
    { class: "menu" },
    h(
      "div",
      { class: "field", role: "group", "aria-label": t("menu.language") },
      h("span", null, t("menu.language")),
      h(
        "div",
        { class: "choices" },
        languages.map(([code, name]) =>
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
    ),
    h(
      "div",
      { class: "field", role: "group", "aria-label": t("menu.theme") },
      h("span", null, t("menu.theme")),
      h(
        "div",
        { class: "choices" },
        ["auto", "light", "dark"].map((name) =>
          h(
            "button",
            {
              class: "button is-small",
              type: "button",
              "data-do": "theme",
              "data-theme": name,
              "aria-pressed": String(name === theme),
            },
            t(`theme.${name}`),
          ),
        ),
      ),
    ),
    h("h3", null, t("help.title")),
    h(
      "ul",
      { class: "help" },
      ["drag", "tap", "keys", "finish", "okey"].map((key) => h("li", null, t(`help.${key}`))),
    ),
    isSignedIn
      ? h("button", { class: "button is-quiet", type: "button", "data-do": "signOut" }, t("menu.signOut"))
      : null,
  );
