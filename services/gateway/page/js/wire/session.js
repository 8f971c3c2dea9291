// Who plays: a guest's token, kept for this tab only and renewed before it ends.
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

  /** Play with an identity provider's token, which says nothing of when it ends to us. */
  useToken(token, playerId, name) {
    this.#keep({ token, player_id: playerId, name, expires_at_ms: Number.MAX_SAFE_INTEGER });
  }

  /** The token, renewed where it ends soon. Raises Refusal where it has ended and nobody renews it. */
  async token() {
    if (!this.#kept) throw new Refusal({ reason: "TOKEN_MISSING", code: "UNAUTHENTICATED" });
    if (Number(this.#kept.expires_at_ms) - EARLY_MS < Date.now()) await this.renew();
    return this.#kept.token;
  }

  /** A new token for the same player. */
  async renew() {
    this.#keep(await post("/session/guest", { name: this.name }, this.#kept.token));
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
