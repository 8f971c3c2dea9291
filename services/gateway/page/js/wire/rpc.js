// Single calls: POST /rpc/<Service>/<Method>, protobuf JSON both ways (docs/gateway.md).

const TRIES = 4;
const FIRST_PAUSE_MS = 300;

/** A refusal, or that nobody answered: `reason` is the stable name of docs/api.md. */
export class Refusal extends Error {
  constructor({
    reason = "INTERNAL",
    code = "INTERNAL",
    message = "",
    metadata = {},
    retry_after_ms: retryMs = 0,
  } = {}) {
    super(message || reason);
    this.reason = reason;
    this.code = code;
    this.metadata = metadata;
    this.retryMs = retryMs;
  }

  /** Whether the same request may be sent again because nobody knows what came of it. */
  get isPassing() {
    return this.code === "UNAVAILABLE" || this.code === "DEADLINE_EXCEEDED";
  }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function answerOf(response) {
  const body = await response.json().catch(() => null);
  if (response.ok && body) return body;
  throw new Refusal(body ?? { reason: "GATEWAY_AWAY", code: "UNAVAILABLE" });
}

/** POST a JSON body. Raises Refusal, also where there is no connection. */
export async function post(path, body, token = "") {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), cache: "no-store" });
  } catch {
    throw new Refusal({ reason: "GATEWAY_AWAY", code: "UNAVAILABLE" });
  }
  return answerOf(response);
}

/** Calls of one player; a passing failure is tried again a few times, unchanged, and so is an ended token, once renewed. */
export class Rpc {
  #session;

  constructor(session) {
    this.#session = session;
  }

  async call(service, method, body = {}) {
    for (let tried = 1; ; tried += 1)
      try {
        return await post(`/rpc/${service}/${method}`, body, await this.#session.token());
      } catch (refusal) {
        if (!(refusal instanceof Refusal) || tried === TRIES) throw refusal;
        if (refusal.reason === "TOKEN_EXPIRED" && tried === 1) {
          this.#session.expire();
          continue;
        }
        if (!refusal.isPassing) throw refusal;
        await pause(refusal.retryMs || FIRST_PAUSE_MS * 2 ** tried);
      }
  }
}

/** A new request's id. */
export const newRequestId = () => crypto.randomUUID();

/** Bytes as base64, as protobuf JSON has them. */
export const base64Of = (bytes) => btoa(String.fromCharCode(...bytes));
