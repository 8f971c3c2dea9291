// The leaderboard and the account: ratings, balance, statement.
import { named } from "../core/names.js";
import { matchesPlayed } from "../core/statement.js";
import { chips } from "./centre_view.js";
import { h } from "./dom.js";
import { topBar } from "./lobby_view.js";

const points = (t, milli) => t.number(Math.round(Number(milli) / 1000));

/** A change of rating points, to one tenth, with its sign. */
export const change = (t, milli) => t.signed(Math.round(Number(milli) / 100) / 10);

const LADDERS = ["OVERALL", "CANAK", "KLASIK"];

function leaderRow(t, row, ownId) {
  const isOwn = row.playerId === ownId;
  return h(
    "tr",
    { class: isOwn ? "is-own" : null },
    h("td", { class: "number" }, t.number(row.rank)),
    h(
      "td",
      { title: row.playerId },
      row.name,
      row.mark ? h("span", { class: "name-mark" }, row.mark) : null,
      isOwn ? h("span", { class: "you" }, t("seat.youMark")) : null,
    ),
    h("td", { class: "number" }, points(t, row.ratingMilli)),
    h("td", { class: "number" }, t.number(row.matches)),
  );
}

const head = (t, keys) =>
  h(
    "thead",
    null,
    h(
      "tr",
      null,
      keys.map(([key, kind]) => h("th", { scope: "col", class: kind }, t(key))),
    ),
  );

/** Who plays best, on one ladder and in one section. */
export function leadersView(t, model) {
  const { ladder, section, rows, names, rank, isAway } = model.leaders;
  const pick = (action, name, chosen, key) =>
    h(
      "button",
      {
        class: "button is-small",
        type: "button",
        "data-do": action,
        "data-name": name,
        "aria-pressed": String(name === chosen),
      },
      t(`${key}.${name}`),
    );
  return h(
    "div",
    { class: "page" },
    topBar(t, model),
    h(
      "main",
      { class: "sheet", id: "main", tabindex: "-1" },
      h("h1", null, t("nav.leaders")),
      h(
        "div",
        { class: "choices", role: "group", "aria-label": t("leaders.ladder") },
        LADDERS.map((name) => pick("ladder", name, ladder, "ladder")),
      ),
      h(
        "div",
        { class: "choices", role: "group", "aria-label": t("leaders.section") },
        ["ESTABLISHED", "PROVISIONAL"].map((name) => pick("section", name, section, "section")),
      ),
      rank ? h("p", { class: "own-rank" }, t("leaders.own", rank)) : null,
      rows && !rank ? h("p", { class: "note" }, t("leaders.unranked")) : null,
      rows === null ? h("p", { class: "note" }, t(isAway ? "leaders.away" : "list.loading")) : null,
      rows?.length === 0 ? h("p", { class: "note" }, t("leaders.empty")) : null,
      rows?.length
        ? h(
            "table",
            { class: "figures" },
            head(t, [
              ["leaders.rank", "number"],
              ["leaders.player", null],
              ["leaders.points", "number"],
              ["leaders.matches", "number"],
            ]),
            h(
              "tbody",
              null,
              named(rows, names, t("leaders.nameless")).map((row) => leaderRow(t, row, model.playerId)),
            ),
          )
        : null,
    ),
  );
}

function postingRow(t, posting, played) {
  const kind = posting.kind.slice("JOURNAL_KIND_".length);
  const amount = Number(posting.amount);
  const match = played.has(posting.match_id) && kind !== "VOID_HOLD" ? /-(\d+)$/.exec(posting.match_id)[1] : null;
  return h(
    "tr",
    null,
    h("td", null, t.moment(Number(posting.booked_at_ms))),
    h(
      "td",
      null,
      t(t.has(`journal.${kind}`) ? `journal.${kind}` : "journal.other"),
      match
        ? [
            " ",
            h(
              "button",
              {
                class: "link",
                type: "button",
                "data-do": "openReplay",
                "data-table": posting.table_id,
                "data-match": match,
              },
              t("account.match", { match: Number(match) }),
            ),
          ]
        : null,
    ),
    h("td", { class: `number ${amount < 0 ? "is-less" : "is-more"}` }, t.signed(amount)),
    h("td", { class: "number" }, t.number(Number(posting.balance_after))),
  );
}

/** The own chips and where they went, the newest first, and the own ratings. */
export function accountView(t, model) {
  const { postings, ratings } = model.account;
  const played = matchesPlayed(postings ?? []);
  return h(
    "div",
    { class: "page" },
    topBar(t, model),
    h(
      "main",
      { class: "sheet", id: "main", tabindex: "-1" },
      h("h1", null, t("nav.account")),
      h(
        "div",
        { class: "account-facts" },
        chips(t, model.balance ?? 0, t("account.balance"), "is-large"),
        (ratings ?? []).map((rating) =>
          h(
            "span",
            { class: "fact" },
            h("span", { class: "fact-label" }, t(`ladder.${rating.ladder.slice("LADDER_".length)}`)),
            h("strong", null, points(t, rating.rating_milli)),
          ),
        ),
      ),
      h("h2", null, t("account.statement")),
      postings === null ? h("p", { class: "note" }, t("list.loading")) : null,
      postings?.length
        ? h(
            "table",
            { class: "figures" },
            head(t, [
              ["account.when", null],
              ["account.what", null],
              ["account.amount", "number"],
              ["account.after", "number"],
            ]),
            h(
              "tbody",
              null,
              postings.map((posting) => postingRow(t, posting, played)),
            ),
          )
        : null,
    ),
  );
}
