// Who plays: a token, kept for this tab only. A guest's is renewed before it ends; a sign-in page of an identity provider
// puts its own under the same key: `{token, player_id, name, expires_at_ms}`.
import { post, Refusal } from "./rpc.js";

const KEY = "okey.session";
const EARLY_MS = 60_000;

/** The session that this tab keeps, or none yet. */
export class Session {
  #kept;

  constructor(storage = sessionStorage) {
    this.storage = storage;
    this.#kept = JSON.parse(storage.getItem(KEY) ?? "null");
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
    if (this.#kept) this.#keep({ ...this.#kept, expires_at_ms: 0 });
  }

  /** The token, renewed where it ends soon. Raises Refusal where it has ended and nobody renews it. */
  async token() {
    if (!this.#kept) throw new Refusal({ reason: "TOKEN_MISSING", code: "UNAUTHENTICATED" });
    if (Number(this.#kept.expires_at_ms) - EARLY_MS < Date.now()) await this.renew();
    return this.#kept.token;
  }

  /** A new token for the same player. Raises Refusal; UNAUTHENTICATED where nobody gives one. */
  async renew() {
    try {
      this.#keep(await post("/session/guest", { name: this.name }, this.#kept.token));
    } catch (refusal) {
      if (refusal.isPassing) throw refusal;
      throw new Refusal({ reason: "TOKEN_EXPIRED", code: "UNAUTHENTICATED" });
    }
  }

  /** Forget who played. */
  end() {
    this.#kept = null;
    this.storage.removeItem(KEY);
  }

  #keep(kept) {
    this.#kept = kept;
    this.storage.setItem(KEY, JSON.stringify(kept));
  }
}
