// A table over gRPC-Web, through Envoy: make it, watch it, be refused another one, leave.
//
//   EDGE=http://127.0.0.1:8080 TOKEN=$(.venv/bin/okeyctl token --player web) node examples/web/first_table.js

import { readFile } from "node:fs/promises";
import { GrpcWeb, Refused } from "./grpc_web.js";
import { Schema } from "./protobuf.js";

const LOBBY = "okey.api.lobby.v1";
const ENGINE = "okey.api.engine.v1";

// A page would fetch it from its own site.
const image = await readFile(new URL("../../protos/released/okey.binpb", import.meta.url));
const platform = new GrpcWeb(process.env.EDGE ?? "http://127.0.0.1:8080", Schema.read(image), () => process.env.TOKEN);

function call(service, rpc, request) {
  const name = service.replace(/\.\w+$/, ""); // the package
  return platform.unary(`${service}/${rpc}`, `${name}.${rpc}Request`, `${name}.${rpc}Response`, request);
}

const newTable = () => ({ request_id: crypto.randomUUID(), terms: { seat_count: 2, stake: 100 } });

const made = await call(`${LOBBY}.LobbyService`, "CreateTable", newTable());
console.log("table", made.table_id);

const watched = platform.stream(
  `${ENGINE}.TableService/WatchTable`,
  `${ENGINE}.WatchTableRequest`,
  `${ENGINE}.WatchTableResponse`,
  { table_id: made.table_id },
);
for await (const message of watched) {
  console.log("phase", message.snapshot.phase);
  break;
}

try {
  await call(`${LOBBY}.LobbyService`, "CreateTable", newTable());
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.log("a second table:", error.reason);
}

await call(`${LOBBY}.LobbyService`, "LeaveTable", { table_id: made.table_id, request_id: crypto.randomUUID() });
console.log("left");
