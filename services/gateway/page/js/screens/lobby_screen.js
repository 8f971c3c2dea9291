// The lobby and the pages beside it: list, forms, quick match, leaderboard, account.
import { refusalText } from "../core/i18n.js";
import { show } from "../ui/dom.js";
import { listRequest, NEW_TABLE, playForm, termsOf, ticketRequest } from "../ui/forms_view.js";
import { lobbyView } from "../ui/lobby_view.js";
import { accountView, leadersView } from "../ui/pages_view.js";
import { newRequestId } from "../wire/rpc.js";
import { Leaders } from "./leaders.js";

const LIVE = new Set(["TICKET_STATE_WAITING", "TICKET_STATE_SEATING", "TICKET_STATE_AWAITING_PARTNER"]);
const ALL_TABLES = {
  variant: "",
  mode: "",
  seats: "",
  stakes: "",
  speed: "",
  order: "TABLE_ORDER_SOONEST",
  joinable: false,
  kasa: false,
};

/** Everything but the table. */
export class LobbyScreen {
  #app;
  #form = null;

  constructor(app) {
    this.#app = app;
    this.page = "lobby";
    this.tables = null;
    this.filters = { ...ALL_TABLES };
    this.chosen = { ...NEW_TABLE };
    this.ticket = null;
    this.ticketSinceMs = 0;
    this.seatedAt = "";
    this.leaders = new Leaders(app);
    this.account = { postings: null, ratings: null };
  }

  /** Come to a page: "lobby", "leaders" or "account". */
  async open(page) {
    this.page = page;
    const { connection } = this.#app;
    if (page === "lobby") connection.watch("tables", listRequest(this.filters));
    else connection.unwatch("tables");
    this.#app.books.refreshBalance();
    this.render();
    const known = this.#whereAmI(); // a search goes on wherever one reads, over a reload too
    if (page === "leaders") await this.leaders.load();
    else if (page === "account") await this.#loadAccount();
    await known;
  }

  /** Leave for a table. */
  close() {
    this.#app.connection.unwatch("tables");
  }

  async #whereAmI() {
    try {
      const { table_id: tableId } = await this.#app.rpc.call("TableService", "WhereAmI");
      this.seatedAt = tableId;
      const { ticket } = await this.#app.rpc.call("LobbyService", "GetTicket", { may_be_none: true });
      if (ticket) this.receiveTicket(ticket);
    } catch {
      // Nobody answers: the list says so too.
    }
    this.render();
  }

  receiveTables(tables) {
    this.tables = tables;
    this.render();
  }

  receiveTicket(ticket) {
    const wasLive = this.ticket !== null;
    this.ticket = LIVE.has(ticket.state) ? ticket : null;
    this.ticketSinceMs = Number(ticket.enqueued_ms);
    if (this.ticket && !wasLive) this.#app.connection.watch("ticket");
    if (wasLive && ticket.state === "TICKET_STATE_SEATED") this.#app.go(`/table/${ticket.table_id}`);
    if (wasLive && ticket.reason) this.#app.warn(refusalText(this.#app.t, ticket.reason));
    this.render();
  }

  get #model() {
    const { session, books } = this.#app;
    const waitedMs = this.ticket ? Math.max(0, this.#app.clock.nowMs() - this.ticketSinceMs) : 0;
    const { page, tables, filters, ticket, seatedAt, leaders, account } = this;
    return {
      name: session.name,
      playerId: session.playerId,
      balance: books.balance,
      page,
      tables,
      filters,
      ticket,
      waitedMs,
      seatedAt,
      leaders,
      account,
    };
  }

  render() {
    if (this.#app.table || this.#app.lobby !== this) return;
    const views = { lobby: lobbyView, leaders: leadersView, account: accountView };
    show(this.#app.root, views[this.page](this.#app.t, this.#model));
  }

  /** Keep the waited seconds honest. */
  tick() {
    if (this.ticket && this.page === "lobby") this.render();
  }

  do(action, element) {
    const app = this.#app;
    const actions = {
      toLobby: () => app.go("/"),
      toLeaders: () => app.go("/#leaders"),
      toAccount: () => app.go("/#account"),
      backToTable: () => app.go(`/table/${this.seatedAt}`),
      quick: () => this.#openForm("quick"),
      solo: () => this.#openForm("solo"),
      create: () => this.#openForm("create"),
      join: () => app.once("join", () => this.join(element.dataset.table)),
      watch: () => app.go(`/table/${element.dataset.table}`),
      cancelTicket: () => this.#cancelTicket(),
      filter: () => this.#filter(element),
      ladder: () => this.leaders.pick({ ladder: element.dataset.name }),
      section: () => this.leaders.pick({ section: element.dataset.name }),
      openReplay: () => this.#replay(element),
    };
    actions[action]?.();
  }

  #replay(element) {
    this.#app.rounds.openReplay(element.dataset.table, { matchNo: Number(element.dataset.match), roundNo: 1 });
  }

  #filter(input) {
    this.filters[input.name] = input.type === "checkbox" ? input.checked : input.value;
    this.tables = null;
    this.#app.connection.watch("tables", listRequest(this.filters));
    this.render();
  }

  #openForm(kind) {
    this.#form = kind;
    this.#problem("");
  }

  #problem(problem) {
    const { t, dialog } = this.#app;
    dialog.show(`form-${this.#form}`, t(`form.${this.#form}Title`), playForm(t, this.#form, this.chosen, problem), {
      closeLabel: t("menu.close"),
    });
  }

  /** A field of the form has changed. */
  input(input) {
    this.chosen[input.name] = input.type === "checkbox" ? input.checked : input.value;
    this.#problem("");
  }

  /** The form is sent: "create", "solo" or "quick". */
  async submit(kind) {
    try {
      if (kind === "quick") await this.#enqueue();
      else await this.#create(kind);
      this.#app.dialog.close();
    } catch (refusal) {
      this.#problem(refusalText(this.#app.t, refusal.reason ?? "INTERNAL", refusal.metadata));
    }
  }

  async #enqueue() {
    const { ticket } = await this.#app.rpc.call("LobbyService", "EnqueueTicket", ticketRequest(this.chosen));
    this.receiveTicket(ticket);
  }

  async #create(kind) {
    const isFilled = kind === "create" && this.chosen.variant === "VARIANT_CANAK";
    const request = {
      request_id: newRequestId(),
      terms: termsOf(kind, this.chosen),
      is_private: kind === "create" && this.chosen.isPrivate,
      house_fill_after_ms: isFilled ? this.chosen.fill : "0",
    };
    if (kind === "solo") request.bot_level = this.chosen.bots;
    const { table_id: tableId, invite } = await this.#app.rpc.call("LobbyService", "CreateTable", request);
    if (invite) this.#app.store.keep(`okey.invite.${tableId}`, invite);
    this.#app.go(`/table/${tableId}`);
  }

  /** Sit down at a table, on a certain seat or any, and go there. */
  async join(tableId, invite = "", seat = undefined) {
    const request = { table_id: tableId, request_id: newRequestId(), invite };
    if (seat !== undefined) request.seat = Number(seat);
    try {
      await this.#app.rpc.call("LobbyService", "JoinTable", request);
      this.#app.go(`/table/${tableId}`);
    } catch (refusal) {
      this.#app.warn(refusalText(this.#app.t, refusal.reason ?? "INTERNAL"));
    }
  }

  async #cancelTicket() {
    try {
      await this.#app.rpc.call("LobbyService", "CancelTicket");
      this.ticket = null;
      this.#app.connection.unwatch("ticket");
    } catch (refusal) {
      this.#app.warn(refusalText(this.#app.t, refusal.reason ?? "INTERNAL"));
    }
    this.render();
  }

  /** Who signs out is not seated later; where nobody hears it, the ticket ends by itself. */
  stopSearching() {
    if (this.ticket) this.#app.rpc.call("LobbyService", "CancelTicket").catch(() => null);
  }

  async #loadAccount() {
    const { rpc, session, books } = this.#app;
    const ratings = await rpc
      .call("RatingService", "GetRating", { player_id: session.playerId })
      .catch(() => ({ ratings: [] }));
    const postings = await books.postings().catch(() => []);
    this.account = { postings, ratings: ratings.ratings };
    this.render();
  }
}
