// The page: who plays, where one is, and what all screens share.
import { clockText, ServerClock } from "./core/clock.js";
import { LANGUAGES, pickLanguage, refusalText, translator } from "./core/i18n.js";
import { Store } from "./core/store.js";
import { deadlineOf } from "./core/table.js";
import { Upgrade } from "./core/upgrade.js";
import { Books } from "./screens/books.js";
import { LobbyScreen } from "./screens/lobby_screen.js";
import { Rounds } from "./screens/rounds.js";
import { TableScreen } from "./screens/table_screen.js";
import { Dialog } from "./ui/dialog.js";
import { show } from "./ui/dom.js";
import { menuView } from "./ui/forms_view.js";
import { welcomeView } from "./ui/lobby_view.js";
import { tick } from "./ui/motion.js";
import { Notices } from "./ui/notices.js";
import { Connection } from "./wire/connection.js";
import { Rpc } from "./wire/rpc.js";
import { Session } from "./wire/session.js";

const TICK_MS = 200;
const READ_MS = 2_500; // the last moments of a pause: how the round ended has been read
const THEMES = ["auto", "light", "dark"];
const TABLE_PATH = /^\/(table|invite)\/([a-z0-9]{26})$/;

/** The invite code in an address, which may have come through any messenger. */
function codeOf(hash) {
  try {
    return decodeURIComponent(hash.slice(1)).trim();
  } catch {
    return hash.slice(1);
  }
}

class App {
  #underWay = new Set();
  #problem = "";
  #hasGuests = true;
  #banner = document.getElementById("connection");

  constructor() {
    this.store = new Store(() => localStorage);
    this.root = document.getElementById("app");
    this.clock = new ServerClock(() => performance.now());
    const tab = new Store(() => sessionStorage);
    this.session = new Session(tab, this.clock);
    const own = document.querySelector('meta[name="okey-build"]').content;
    this.upgrade = new Upgrade(own, tab, () => location.reload());
    this.rpc = new Rpc(this.session);
    this.connectionState = "connecting";
    this.table = null;
    this.notices = new Notices();
    this.dialog = new Dialog((action, element) => this.#do(action, element));
    this.connection = new Connection(() => this.session.token(), {
      onTable: (message) => this.table?.receive(message),
      onTables: (tables) => this.lobby.receiveTables(tables),
      onTicket: (ticket) => this.lobby.receiveTicket(ticket),
      onState: (state) => this.#connectionIs(state),
      onEnd: (end) => this.#ended(end),
      onTime: (serverTimeMs) => this.clock.hear(serverTimeMs),
      onTokenEnded: () => this.session.expire(),
      onSignedOut: () => this.#signOut(),
      onBuild: (build) => this.#hearBuild(build),
    });
    this.rounds = new Rounds(this, null);
    this.#begin();
  }

  /** What is kept of a player, for one of whom nothing is known yet. */
  #begin() {
    this.books = new Books(this);
    this.lobby = new LobbyScreen(this);
  }

  async start() {
    this.#speak(pickLanguage([this.store.text("okey.language"), ...navigator.languages]));
    this.#wear(this.store.text("okey.theme"));
    this.root.addEventListener("click", (event) => this.#clicked(event));
    this.root.addEventListener("submit", (event) => this.#submitted(event));
    this.root.addEventListener("change", (event) => this.#changed(event));
    addEventListener("popstate", () => this.#route());
    setInterval(() => this.#tick(), TICK_MS);
    const config = await fetch("/config.json").then(
      (response) => response.json(),
      () => ({}),
    );
    this.clock.hear(Number(config.server_time_ms ?? 0));
    this.#hasGuests = config.has_guests ?? true;
    if (this.session.isSignedIn) this.#enter();
    else this.render();
  }

  #enter() {
    this.connection.open();
    this.#route();
  }

  /** Go to another place of this page. */
  go(path) {
    if (path !== location.pathname + location.hash) history.pushState(null, "", path);
    this.#route();
  }

  #route() {
    if (!this.session.isSignedIn) return this.render();
    const [, kind, tableId] = TABLE_PATH.exec(location.pathname) ?? [];
    if (!tableId) return this.#toLobby(location.hash.slice(1));
    const invite = codeOf(location.hash) || this.store.text(`okey.invite.${tableId}`);
    if (invite) this.store.keep(`okey.invite.${tableId}`, invite);
    if (kind === "invite") return this.#accept(tableId, invite);
    if (this.table?.tableId !== tableId) this.#openTable(tableId, invite);
    return undefined;
  }

  async #accept(tableId, invite) {
    history.replaceState(null, "", `/table/${tableId}`);
    await this.lobby.join(tableId, invite);
    this.#route();
  }

  #toLobby(hash) {
    this.table?.close();
    if (this.table) this.connection.detach();
    this.table = null;
    this.dialog.close();
    this.lobby.open(["leaders", "account"].includes(hash) ? hash : "lobby");
    document.title = "Okey";
  }

  #openTable(tableId, invite) {
    this.table?.close();
    this.lobby.close();
    this.dialog.close();
    const root = this.root.cloneNode(false);
    this.root.replaceChildren(root);
    root.id = "table";
    this.table = new TableScreen(this, root, tableId, { invite });
    this.connection.attach(tableId, invite);
  }

  render() {
    if (!this.session.isSignedIn) {
      const model = { hasGuests: this.#hasGuests, problem: this.#problem, languages: Object.entries(LANGUAGES) };
      show(this.root, welcomeView(this.t, model));
    } else if (this.table) this.table.render();
    else this.lobby.render();
  }

  /** Tell a screen reader, and on screen too where `isShown`. */
  say(text, { isShown = false } = {}) {
    this.notices.say(text);
    if (isShown) this.notices.show(text);
  }

  /** Something did not work. */
  warn(text) {
    this.notices.warn(text);
  }

  /** Do it, unless just that is under way: who clicks twice means it once. */
  async once(name, doing) {
    if (this.#underWay.has(name)) return;
    this.#underWay.add(name);
    try {
      await doing();
    } finally {
      this.#underWay.delete(name);
    }
  }

  /** A touch of the phone: it is one's turn. */
  buzz() {
    if (document.hidden || matchMedia("(pointer: coarse)").matches) navigator.vibrate?.(40);
  }

  #speak(language) {
    this.t = translator(language, navigator.languages);
    document.documentElement.lang = language;
    this.store.keep("okey.language", language);
  }

  #wear(theme) {
    this.theme = THEMES.includes(theme) ? theme : "auto";
    document.documentElement.dataset.theme = this.theme;
    this.store.keep("okey.theme", this.theme);
  }

  #connectionIs(state) {
    if (state === "lost") this.clock.reset();
    if (state === this.connectionState) return;
    this.connectionState = state;
    document.documentElement.dataset.connection = state;
    this.#tellConnection();
  }

  #tellConnection() {
    const isFine = this.connectionState === "open" || !this.session.isSignedIn;
    const outdated = this.upgrade.isDue ? this.t("connection.outdated") : "";
    this.#banner.textContent = isFine ? outdated : this.t(`connection.${this.connectionState}`);
  }

  #hearBuild(build) {
    this.upgrade.hear(build);
    this.#tellConnection();
  }

  /** In the middle of a round, or of something that is typed or read. */
  get #isBusy() {
    const { table } = this.table ?? {};
    if (!table || !this.table.isPlaying || table.phase === "WAITING") return this.dialog.name !== "";
    const isOver = table.phase === "PAUSE" && this.clock.leftMs(deadlineOf(table, "ROUND_PAUSE") ?? 0) < READ_MS;
    return !isOver || !["", "result"].includes(this.dialog.name);
  }

  #ended(end) {
    if (end.of !== "table") return;
    if (end.error) {
      this.warn(refusalText(this.t, end.error.reason));
      this.go("/");
    }
  }

  #signOut() {
    this.session.end();
    this.connection.close();
    this.dialog.close();
    this.table?.close();
    this.table = null;
    this.#begin();
    this.render();
  }

  #clicked(event) {
    const element = event.target.closest("[data-do]");
    if (element && element.getAttribute("aria-disabled") !== "true") this.#do(element.dataset.do, element);
  }

  #submitted(event) {
    event.preventDefault();
    this.#do(event.target.dataset.submit, event.target);
  }

  #changed(event) {
    const input = event.target.closest("[data-input]");
    if (input) this.#do(input.dataset.input, input);
  }

  #do(action, element) {
    const common = {
      closeDialog: () => this.dialog.close(),
      openMenu: () => this.#menu(),
      language: () => this.#chose(() => this.#speak(element.dataset.language)),
      theme: () => this.#chose(() => this.#wear(element.dataset.theme)),
      signOut: () => this.#leave(),
      signIn: () => this.once("signIn", () => this.#signIn(element)),
      form: () => this.lobby.input(element),
    };
    if (common[action]) common[action]();
    else if (element.matches("form.play-form")) this.once("form", () => this.lobby.submit(action));
    else if (this.table) this.table.do(action, element);
    else if (action.startsWith("replay") || action === "checkRound") this.rounds.do(action, element);
    else this.lobby.do(action, element);
  }

  #leave() {
    this.lobby.stopSearching();
    history.pushState(null, "", "/");
    this.#signOut();
  }

  #chose(change) {
    change();
    this.render();
    if (this.dialog.name === "menu") this.#menu();
  }

  #menu() {
    const model = { languages: Object.entries(LANGUAGES), theme: this.theme, isSignedIn: this.session.isSignedIn };
    this.dialog.show("menu", this.t("menu.title"), menuView(this.t, model), { closeLabel: this.t("menu.close") });
  }

  async #signIn(form) {
    try {
      await this.session.signIn(form.elements.name.value.trim());
      this.#problem = "";
      this.#enter();
    } catch (refusal) {
      this.#problem = refusalText(this.t, refusal.reason ?? "INTERNAL", refusal.metadata);
      this.render();
    }
  }

  #tick() {
    tick(document, this.clock, clockText);
    this.lobby.tick();
    this.table?.tick();
    if (!this.#isBusy) this.upgrade.take();
  }
}

new App().start();
