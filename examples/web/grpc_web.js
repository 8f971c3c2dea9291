// gRPC-Web over fetch: one request up, messages down, the status in the last frame. Runs in browsers and in Node 18+.

const TRAILERS = 0x80;
const HEAD = 5; // a byte of kind, four of length

export class Refused extends Error {
  // `reason` is the stable name of the refusal, "" where it comes from gRPC itself.
  constructor(code, message, reason) {
    super(`${reason || code}: ${message}`);
    this.code = code;
    this.reason = reason;
  }
}

export class GrpcWeb {
  // `edge` is where Envoy is, as http://127.0.0.1:8080; `token` gives the caller's token as it is now.
  constructor(edge, schema, token) {
    this.edge = edge;
    this.schema = schema;
    this.token = token;
  }

  // The answer to a call with one answer.
  async unary(method, takes, gives, request) {
    for await (const message of this.stream(method, takes, gives, request)) return message;
    throw new Error(`${method} ended without an answer`);
  }

  // The messages of a stream, until it ends or the caller leaves the loop.
  async *stream(method, takes, gives, request) {
    const leaving = new AbortController();
    const answer = await fetch(`${this.edge}/${method}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.token()}`,
        "content-type": "application/grpc-web+proto",
        "x-grpc-web": "1",
      },
      body: framed(this.schema.encode(takes, request)),
      signal: leaving.signal,
    });
    try {
      // A call that is refused at once has its status in the headers.
      this.#raiseRefusal((name) => answer.headers.get(name));
      for await (const [kind, bytes] of frames(answer.body)) {
        if (kind & TRAILERS) {
          const trailers = trailersOf(bytes);
          this.#raiseRefusal((name) => trailers.get(name));
        } else {
          yield this.schema.decode(gives, bytes);
        }
      }
    } finally {
      leaving.abort();
    }
  }

  #raiseRefusal(header) {
    const code = header("grpc-status");
    if (code === null || code === undefined || code === "0") return;
    const details = header("grpc-status-details-bin");
    throw new Refused(Number(code), decodeURIComponent(header("grpc-message") ?? ""), details ? this.#reason(details) : "");
  }

  #reason(details) {
    const base64 = details.replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    // google.rpc.Status: details are Any, of which ErrorInfo has the reason in field 1.
    const status = this.schema.decode("google.rpc.Status", bytes);
    const info = (status.details ?? []).find((each) => each.type_url.endsWith("google.rpc.ErrorInfo"));
    if (info === undefined) return "";
    return new TextDecoder().decode(info.value.subarray(2, 2 + info.value[1]));
  }
}

function framed(message) {
  const frame = new Uint8Array(HEAD + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, HEAD);
  return frame;
}

function trailersOf(bytes) {
  const lines = new TextDecoder().decode(bytes).split("\r\n").filter(Boolean);
  return new Map(lines.map((line) => {
    const at = line.indexOf(":");
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
  }));
}

async function* frames(body) {
  let waiting = new Uint8Array();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const joined = new Uint8Array(waiting.length + value.length);
    joined.set(waiting);
    joined.set(value, waiting.length);
    waiting = joined;
    while (waiting.length >= HEAD) {
      const size = new DataView(waiting.buffer, waiting.byteOffset).getUint32(1);
      if (waiting.length < HEAD + size) break;
      yield [waiting[0], waiting.subarray(HEAD, HEAD + size)];
      waiting = waiting.subarray(HEAD + size);
    }
  }
}
