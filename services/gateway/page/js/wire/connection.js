// The one WebSocket of a player: opens again by itself after a break, goes on from the cursor, and sends what was not
// answered once more under the same ids (docs/gateway.md).
import { Refusal } from "./rpc.js";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
const SILENCE_MS = 17_000;
const PING_MS = 8_000;
const WATCH_PAUSE_MS = 3_000;
const TOKEN_ENDED = 4001;

/**
 * Callbacks: `onTable(playResponse)`, `onTables(list)`, `onTicket(ticket)`, `onState("open" | "lost" | "away")`,
 * `onEnd(end)` for a table or a watch that is over, `onTime(serverTimeMs)`, `onTokenEnded()`,
 * `onSignedOut()`, `onBuild(pageBuild)`.
 */
export class Connection {
  #callbacks;
  #tokenOf;
  #socket = null;
  #isWanted = false;
  #failures = 0;
  #table = null;
  #watches = new Map();
  #pending = new Map();
  #asked = 0;
  #askedAt = 0;
  #pinging = 0;
  #waiting = 0;

  constructor(tokenOf, callbacks) {
    this.#tokenOf = tokenOf;
    this.#callbacks = callbacks;
  }

  /** Connect, and stay so until `close`. */
  open() {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#connect();
  }

  /** Say goodbye: whoever comes next follows nothing of this player's, and sends nothing of it again. */
  close() {
    this.#isWanted = false;
    clearTimeout(this.#waiting);
    clearInterval(this.#pinging);
    this.#socket?.close();
    this.#socket = null;
    this.#table = null;
    this.#watches.clear();
    this.#rejectPending();
  }

  /** Follow a table from its snapshot on. */
  attach(tableId, invite = "") {
    this.#table = { tableId, invite, cursor: null };
    this.#rejectPending();
    if (this.#isOpen) this.#send({ play: { attach: this.#attach() } });
  }

  /** Follow no table any more. */
  detach() {
    if (this.#table && this.#isOpen) this.#send({ detach: {} });
    this.#table = null;
    this.#rejectPending();
  }

  /** Follow a ticket (`"ticket", {}`) or a list (`"tables", request`). */
  watch(what, request = {}) {
    this.#watches.set(what, request);
    if (this.#isOpen) this.#send({ watch: { [what]: request } });
  }

  unwatch(what) {
    if (this.#watches.delete(what) && this.#isOpen) this.#send({ unwatch: { [what]: {} } });
  }

  /** Send a command of the open table; resolves when it counts, raises Refusal where it does not. */
  command(kind, body) {
    return new Promise((resolve, reject) => {
      const message = { play: { [kind]: { table_id: this.#table.tableId, ...body } } };
      this.#pending.set(body.request_id, { message, resolve, reject });
      if (this.#isOpen) this.#send(message);
    });
  }

  /** Take a fresh snapshot of the open table. */
  resync() {
    if (this.#table) this.#table.cursor = null;
    if (this.#table && this.#isOpen) this.#send({ play: { attach: this.#attach() } });
  }

  get #isOpen() {
    return this.#socket?.isGreeted ?? false;
  }

  #attach() {
    const { tableId, invite, cursor } = this.#table;
    const attach = { table_id: tableId, with_view: true };
    if (invite) attach.invite = invite;
    if (cursor !== null) attach.after_seq = String(cursor);
    return attach;
  }

  async #connect() {
    let token;
    try {
      token = await this.#tokenOf();
    } catch (refusal) {
      if (refusal.code === "UNAUTHENTICATED") this.#signedOut();
      else this.#again();
      return;
    }
    if (!this.#isWanted) return;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
    this.#socket = socket;
    socket.addEventListener("open", () => socket.send(JSON.stringify({ hello: { token } })));
    socket.addEventListener("message", (message) => this.#receive(socket, JSON.parse(message.data)));
    socket.addEventListener("close", (event) => this.#closed(socket, event.code));
  }

  #receive(socket, frame) {
    if (socket !== this.#socket) return;
    this.#asked = 0;
    if (frame.welcome) this.#greeted(socket, frame.welcome);
    else if (frame.table) this.#tableSaid(frame);
    else if (frame.tables) this.#callbacks.onTables(frame.tables);
    else if (frame.ticket) this.#callbacks.onTicket(frame.ticket);
    else if (frame.pong) this.#callbacks.onTime(Number(frame.pong.server_time_ms));
    else if (frame.away) this.#callbacks.onState("away");
    else if (frame.end) this.#ended(frame.end);
  }

  #greeted(socket, welcome) {
    socket.isGreeted = true;
    this.#asked = 0;
    this.#failures = 0;
    this.#callbacks.onTime(Number(welcome.server_time_ms));
    this.#callbacks.onBuild(welcome.page_build ?? "");
    this.#callbacks.onState("open");
    if (this.#table) this.#send({ play: { attach: this.#attach() } });
    for (const { message } of this.#pending.values()) this.#send(message);
    for (const [what, request] of this.#watches) this.#send({ watch: { [what]: request } });
    clearInterval(this.#pinging);
    this.#pinging = setInterval(() => this.#ping(socket), PING_MS);
  }

  /** Timers of a hidden tab run once a minute or not at all: only pings that were sent, and not answered, count. */
  #ping(socket) {
    const now = performance.now();
    if (this.#asked >= 2 && now - this.#askedAt > SILENCE_MS) {
      socket.close();
      return;
    }
    if (this.#asked === 0) this.#askedAt = now;
    this.#asked += 1;
    this.#send({ ping: { id: 1 } });
  }

  #tableSaid({ table, table_id: tableId }) {
    if (tableId && tableId !== this.#table?.tableId) return;
    if (table.result) this.#answered(table.result);
    if (!this.#table) return;
    const seq = table.snapshot?.seq ?? table.update?.seq;
    if (seq !== undefined) this.#table.cursor = Number(seq);
    if (table.snapshot || table.update) {
      this.#callbacks.onTime(Number((table.snapshot ?? table.update).server_time_ms));
      this.#callbacks.onState("open");
      this.#callbacks.onTable(table);
    }
  }

  #answered(result) {
    const waiting = this.#pending.get(result.request_id);
    this.#pending.delete(result.request_id);
    if (result.error) waiting?.reject(new Refusal(result.error));
    else waiting?.resolve(Number(result.seq));
  }

  #ended(end) {
    if (end.of === "connection") {
      this.#socket.endReason = end.reason;
      this.#socket.retryMs = end.retry_after_ms ?? end.error?.retry_after_ms ?? 0;
      return;
    }
    if (end.of !== "table") this.#watchEnded(end);
    else if (end.is_resumable) this.resync();
    else {
      this.#table = null;
      this.#callbacks.onEnd(end);
    }
  }

  /** What only broke off is followed anew a little later, unless it is not wanted any more by then. */
  #watchEnded(end) {
    const { of: what, is_resumable: isResumable, error } = end;
    const request = this.#watches.get(what);
    if (!isResumable) {
      this.#watches.delete(what);
      this.#callbacks.onEnd(end);
      return;
    }
    setTimeout(() => {
      if (request && this.#watches.get(what) === request) this.watch(what, request);
    }, error?.retry_after_ms || WATCH_PAUSE_MS);
  }

  #closed(socket, code) {
    if (socket !== this.#socket) return undefined;
    clearInterval(this.#pinging);
    this.#socket = null;
    if (!this.#isWanted) return undefined;
    if (code === TOKEN_ENDED && socket.endReason !== "TOKEN_EXPIRED") return this.#signedOut();
    if (code === TOKEN_ENDED) this.#callbacks.onTokenEnded();
    return this.#again(socket.retryMs);
  }

  #signedOut() {
    this.#isWanted = false;
    this.#callbacks.onSignedOut();
  }

  #again(askedMs = 0) {
    this.#callbacks.onState("lost");
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#waiting = setTimeout(() => this.#connect(), askedMs || pauseMs * (0.5 + Math.random() / 2));
  }

  #rejectPending() {
    for (const { reject } of this.#pending.values()) reject(new Refusal({ reason: "TABLE_LEFT" }));
    this.#pending.clear();
  }

  #send(frame) {
    this.#socket?.send(JSON.stringify(frame));
  }
}
