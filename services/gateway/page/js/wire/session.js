// Who plays: a token, kept for this tab only. A guest's is renewed before it ends; a sign-in page of an identity provider
// puts its own under the same key: `{token, player_id, name, expires_at_ms}`. When it ends, the server's clock says, or its
// answer: the device's clock may be wrong by hours.
import { post, Refusal } from "./rpc.js";

const KEY = "okey.session";
const EARLY_MS = 60_000;
const GUEST = "guest-";

const isSession = (kept) => typeof kept?.token === "string" && typeof kept?.player_id === "string";

/** The session that this tab keeps, or none yet; `clock` follows the server's. */
export class Session {
  #store;
  #clock;
  #kept;
  #isOver = false;

  constructor(store, clock) {
    this.#store = store;
    this.#clock = clock;
    this.#kept = store.json(KEY, isSession);
  }

  get isSignedIn() {
    return this.#kept !== null;
  }

  get playerId() {
    return this.#kept?.player_id ?? "";
  }

  get name() {
    return this.#kept?.name ?? "";
  }

  /** Become a guest of this name. Raises Refusal. */
  async signIn(name) {
    this.#keep(await post("/session/guest", { name }));
  }

  /** The server says that the token has ended: the next one asked for is new. */
  expire() {
    this.#isOver = true;
  }

  /** The token, renewed where it ends soon. Raises Refusal where it has ended and nobody renews it. */
  async token() {
    if (!this.#kept) throw new Refusal({ reason: "TOKEN_MISSING", code: "UNAUTHENTICATED" });
    if (this.#isOver || this.#endsSoon) await this.renew();
    return this.#kept.token;
  }

  /** A new token for the same player, whom nothing makes another. Raises Refusal; UNAUTHENTICATED where nobody gives one. */
  async renew() {
    const newest = this.#store.json(KEY, isSession);
    if (newest && newest.token !== this.#kept.token) return this.#take(newest);
    if (!this.playerId.startsWith(GUEST)) {
      if (!this.#isOver) return undefined; // the server has not ended it
      throw new Refusal({ reason: "TOKEN_EXPIRED", code: "UNAUTHENTICATED" });
    }
    try {
      return this.#keep(await post("/session/guest", { name: this.name }, this.#kept.token));
    } catch (refusal) {
      if (refusal.isPassing) throw refusal;
      throw new Refusal({ reason: "TOKEN_EXPIRED", code: "UNAUTHENTICATED" });
    }
  }

  /** Forget who played. */
  end() {
    this.#kept = null;
    this.#isOver = false;
    this.#store.drop(KEY);
  }

  get #endsSoon() {
    return this.#clock.isSet && Number(this.#kept.expires_at_ms) - EARLY_MS < this.#clock.nowMs();
  }

  #take(session) {
    this.#kept = session;
    this.#isOver = false;
  }

  #keep(session) {
    this.#take(session);
    this.#store.keep(KEY, JSON.stringify(session));
  }
}
