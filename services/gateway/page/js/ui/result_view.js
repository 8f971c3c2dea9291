// How a round or a match ended: who won and how, chips, rating changes, what comes next, and everybody's tiles.
import { isSeated } from "../core/table.js";
import { byColour, tileFrom } from "../core/tiles.js";
import { h } from "./dom.js";
import { change } from "./pages_view.js";
import { tilesView, tileView } from "./tile_view.js";

const finishOf = (name) => (name ?? "").slice("FINISH_KIND_".length);

/** The seats that a finish wins for: in Eşli both of the side (O2). */
const winnersOf = (table, seat) => (table.mode === "ESLI" && seat >= 0 ? [seat, (seat + 2) % 4] : [seat]);

function headline(t, table, { round, match, people }) {
  const winner = match?.winner ?? round?.seat ?? -1;
  if (match?.kind === "OUTCOME_KIND_HOUSE_WIN") return t("result.house");
  if (winner < 0) return t(match ? "result.matchDrawn" : "result.roundDrawn");
  const winners = winnersOf(table, winner);
  const [name, partner] = winners.filter((seat) => seat !== people.viewer).map((seat) => people.names[seat]);
  if (winners.length > 1) return t(partner ? "result.sideWon" : "result.yourSideWon", { name, partner });
  if (winner === people.viewer) return t(match ? "result.youWonMatch" : "result.youWonRound");
  return t(match ? "result.wonMatch" : "result.wonRound", { name });
}

function racksOf(t, { round, people }) {
  const racks = round.racks.map((rack) => rack.tiles.map(tileFrom).sort(byColour(round.okey)));
  return h(
    "ul",
    { class: "result-racks" },
    racks.map((rack, seat) =>
      rack.length
        ? h(
            "li",
            { class: seat === round.seat ? "is-winner" : null },
            h("span", { class: "result-name" }, people.names[seat]),
            tilesView(t, rack, round.okey, t("result.rack", { name: people.names[seat] })),
          )
        : null,
    ),
  );
}

function howView(t, round) {
  if (round.result !== "ROUND_RESULT_WON")
    return h("p", null, t(`roundResult.${round.result.slice("ROUND_RESULT_".length)}`));
  return h(
    "p",
    { class: "result-how" },
    t(`finish.${finishOf(round.finish)}`),
    " ",
    tileView(t, tileFrom(round.laid), round.okey),
  );
}

function figures(t, table, { match, books, people }) {
  const rows = match.players.map((player, seat) => ({ player, seat }));
  const winners = winnersOf(table, match.winner);
  return h(
    "table",
    { class: "figures" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, t("leaders.player")),
        table.variant === "KLASIK" ? h("th", { scope: "col", class: "number" }, t("result.points")) : null,
        h("th", { scope: "col", class: "number" }, t("result.chips")),
        h("th", { scope: "col", class: "number" }, t("result.rating")),
      ),
    ),
    h(
      "tbody",
      null,
      rows.map(({ player, seat }) =>
        h(
          "tr",
          { class: winners.includes(seat) ? "is-winner" : null },
          h("td", null, people.names[seat]),
          table.variant === "KLASIK" ? h("td", { class: "number" }, t.number(match.points?.[seat] ?? 0)) : null,
          h(
            "td",
            { class: "number" },
            seat === people.viewer ? (books.chips === null ? "…" : t.signed(books.chips)) : "–",
          ),
          h("td", { class: "number" }, ratingText(t, player, books.ratings)),
        ),
      ),
    ),
  );
}

function ratingText(t, player, ratings) {
  if (!player) return "–";
  if (ratings === null) return "…";
  return ratings.has(player) ? change(t, ratings.get(player)) : t("result.unrated");
}

/**
 * The result dialog. `people` are names and viewer as they were at the end; `books` chips and ratings as they become
 * known, null until then; `nextLeft` when the time to decide is over.
 */
export const resultView = (t, table, { nextLeft, ...result }) =>
  h(
    "div",
    { class: "result", "data-key": "result" },
    h("p", { class: "result-headline" }, headline(t, table, result)),
    result.round ? howView(t, result.round) : null,
    result.match?.is_tie_break ? h("p", null, t("result.tieBreak")) : null,
    result.match ? figures(t, table, result) : null,
    h(
      "div",
      { class: "result-next" },
      table.can.has("PLAY_ON")
        ? h(
            "p",
            null,
            t("nachspiel.offer", { kasa: table.kasa, stake: table.stake }),
            " ",
            h("span", { class: "big-clock", "data-deadline": nextLeft }, h("span", { "data-clock": true })),
          )
        : null,
      table.can.has("PLAY_ON")
        ? h(
            "button",
            { class: "button is-main", type: "button", "data-do": "playOn" },
            t("nachspiel.playOn", { stake: table.stake }),
          )
        : null,
      h("button", { class: "button", type: "button", "data-do": "openReplay" }, t("replay.open")),
      h("button", { class: "button", type: "button", "data-do": "openFairness" }, t("fair.open")),
      table.can.has("LEAVE") || table.phase === "CLOSED" || !isSeated(table)
        ? h("button", { class: "button", type: "button", "data-do": "leave" }, t("result.toLobby"))
        : null,
    ),
    result.round ? racksOf(t, result) : null,
  );
