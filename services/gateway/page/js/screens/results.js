// After a round or a match, and around it: result, playing on, giving up, leaving, inviting, replay, fairness.
import { refusalText } from "../core/i18n.js";
import { deadlineOf } from "../core/table.js";
import { h } from "../ui/dom.js";
import { resultView } from "../ui/result_view.js";
import { seatName } from "../ui/seat_view.js";
import { Rounds } from "./rounds.js";

const RATED = new Set(["OUTCOME_KIND_CANAK_WIN", "OUTCOME_KIND_KLASIK_WIN"]);
const LADDERS = { CANAK: "LADDER_CANAK", KLASIK: "LADDER_KLASIK" };
const LOOKS = 12;
const LOOK_MS = 500;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** The results of a table screen. */
export class Results {
  #screen;
  #last = null;

  constructor(screen) {
    this.#screen = screen;
    this.rounds = new Rounds(screen.app, screen);
  }

  /** Remember which number this browser sent for the deal of a commitment. */
  keepNonce(commitment, nonce) {
    this.rounds.keepNonce(commitment, nonce);
  }

  /** What happened; `was` is the table before it. */
  follow(events, was) {
    const { table, app } = this.#screen;
    this.rounds.seen(table);
    const isDealt = events.some(({ kind }) => kind === "round_dealt");
    if (isDealt && app.dialog.name === "result") app.dialog.close();
    for (const { kind, body } of events) {
      if (kind === "round_ended") this.#roundEnded(body, was);
      else if (kind === "match_ended") this.#matchEnded(body, was);
      else if (kind === "seat_declined" && body.player === app.session.playerId)
        app.warn(refusalText(app.t, body.reason));
    }
    if (this.#last && app.dialog.name === "result") this.#show();
    if (events.some(({ kind }) => kind === "settlement_confirmed")) this.#fetchBooks();
  }

  #people(was) {
    const screen = this.#screen;
    const seats = (was ?? screen.table).seats;
    return {
      names: seats.map(({ seat }) => seatName(screen.t, was ?? screen.table, seat)),
      viewer: (was ?? screen.table).viewer,
    };
  }

  #roundEnded(body, was) {
    const { table } = this.#screen;
    const round = { ...body, okey: was?.round?.okey ?? table.round?.okey ?? null };
    this.#last = { round, match: null, people: this.#people(was), matchNo: table.matchNo, roundNo: body.round_no };
    if (body.result !== "ROUND_RESULT_CUT_SHORT" && body.result !== "ROUND_RESULT_VOIDED") this.#show();
  }

  #matchEnded(body, was) {
    const { table } = this.#screen;
    const hasGivenUp = (body.departures ?? []).includes("DEPARTURE_FORFEITED");
    const isRated = hasGivenUp || (RATED.has(body.kind) && body.players.filter(Boolean).length > 1);
    const books = { chips: null, ratings: isRated ? null : new Map() };
    const none = { round: null, people: this.#people(was), matchNo: table.matchNo, roundNo: 1 };
    this.#last = { ...(this.#last?.matchNo === table.matchNo ? this.#last : none), match: body, books };
    this.#show();
  }

  #show() {
    const { app, table } = this.#screen;
    const nextLeft = deadlineOf(table, "NACHSPIEL");
    const content = resultView(app.t, table, { ...this.#last, nextLeft });
    app.dialog.show("result", app.t("result.title"), content, { closeLabel: app.t("menu.close"), isWide: true });
  }

  async #fetchBooks() {
    const last = this.#last;
    if (!last?.match) return;
    const { app } = this.#screen;
    for (let look = 0; look < LOOKS && this.#last === last; look += 1) {
      const [chips, ratings] = await Promise.all([
        app.books.matchChips(last.match.match_id),
        this.#ratingChanges(last.match),
      ]);
      last.books.chips = chips ?? last.books.chips;
      if (last.books.ratings === null && (ratings.size || look === LOOKS - 1)) last.books.ratings = ratings;
      if (app.dialog.name === "result" && this.#last === last) this.#show();
      if (last.books.chips !== null && last.books.ratings !== null) break;
      await pause(LOOK_MS);
    }
    app.books.refreshBalance();
  }

  async #ratingChanges(match) {
    const { app, table } = this.#screen;
    const found = new Map();
    for (const player of match.players.filter(Boolean))
      try {
        const { changes } = await app.rpc.call("RatingService", "ListHistory", {
          player_id: player,
          ladder: LADDERS[table.variant],
          page_size: 5,
        });
        const own = changes.filter((change) => change.match_id === match.match_id);
        if (own.length)
          found.set(
            player,
            own.reduce((sum, change) => sum + Number(change.delta_milli), 0),
          );
      } catch {
        return new Map();
      }
    return found;
  }

  do(action, element) {
    const screen = this.#screen;
    const { app } = screen;
    const actions = {
      askForfeit: () => this.#askForfeit(),
      forfeit: () => app.once("forfeit", () => this.#forfeit()),
      claimMatch: () => app.once("claimMatch", () => screen.tryCommand("claim_match")),
      leave: () => app.once("leave", () => this.#leave()),
      toLobby: () => app.go("/"),
      playOn: () => app.once("playOn", () => this.#playOn()),
      takeSeat: () => app.once("join", () => app.lobby.join(screen.tableId, screen.invite, element.dataset.seatNo)),
      invite: () => this.#invite(),
      copyInvite: () => this.#copy(element),
      openReplay: () => this.rounds.openReplay(screen.tableId, this.#chosenRound()),
      openFairness: () => this.rounds.openFairness(screen.tableId, this.#chosenRound()),
    };
    if (actions[action]) actions[action]();
    else this.rounds.do(action, element);
  }

  #chosenRound() {
    const { table } = this.#screen;
    if (this.#last) return { matchNo: this.#last.matchNo, roundNo: this.#last.roundNo };
    return { matchNo: Math.max(1, table.matchNo), roundNo: Math.max(1, (table.round?.no ?? 2) - 1) };
  }

  #askForfeit() {
    const { app, table } = this.#screen;
    const { t } = app;
    const price = { price: table.forfeitPrice, rating: table.forfeitRating, stake: table.stake };
    app.dialog.show(
      "forfeit",
      t("forfeit.title"),
      h(
        "div",
        { class: "question" },
        h("p", null, t("forfeit.price", price)),
        h(
          "div",
          { class: "choices" },
          h("button", { class: "button is-danger", type: "button", "data-do": "forfeit" }, t("forfeit.yes", price)),
          h("button", { class: "button is-main", type: "button", "data-do": "closeDialog" }, t("forfeit.no")),
        ),
      ),
    );
  }

  async #forfeit() {
    const { app } = this.#screen;
    app.dialog.close();
    if (await this.#screen.tryCommand("forfeit")) app.books.refreshBalance();
  }

  async #leave() {
    const screen = this.#screen;
    screen.app.dialog.close();
    if (screen.table.can.has("LEAVE") && !(await screen.tryCommand("leave_seat"))) return;
    screen.app.go("/");
  }

  async #playOn() {
    this.#screen.app.dialog.close();
    await this.#screen.tryCommand("play_on");
  }

  #invite() {
    const { app, table, tableId } = this.#screen;
    const { t } = app;
    const code = app.store.text(`okey.invite.${tableId}`);
    const isLost = table.isPrivate && !code;
    const link = `${location.origin}/invite/${tableId}${code ? `#${code}` : ""}`;
    app.dialog.show(
      "invite",
      t("invite.title"),
      h(
        "div",
        { class: "question" },
        h("p", null, t(isLost ? "invite.lost" : "invite.text")),
        isLost
          ? null
          : h("input", { class: "invite-link", readonly: true, value: link, "aria-label": t("invite.title") }),
        isLost
          ? null
          : h(
              "div",
              { class: "choices" },
              h(
                "button",
                { class: "button is-main", type: "button", "data-do": "copyInvite", "data-link": link },
                t("invite.copy"),
              ),
            ),
      ),
      { closeLabel: t("menu.close") },
    );
  }

  async #copy(element) {
    const { app } = this.#screen;
    await navigator.clipboard?.writeText(element.dataset.link).then(
      () => app.say(app.t("invite.copied"), { isShown: true }),
      () => document.querySelector(".invite-link")?.select(),
    );
  }
}
