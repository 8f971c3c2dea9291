#!/usr/bin/env bash
# The API from the command line, with buf: make a table, look at it, be refused, leave.
#
#   TOKEN=$(.venv/bin/okeyctl token --player shell) examples/first_calls.sh
#
# `buf curl` speaks JSON here and protobuf to the service. It asks the service for its interface
# (reflection); where that is not offered, --schema protos/released/okey.binpb gives it the same.
set -euo pipefail

LOBBY=${LOBBY:-127.0.0.1:7401}
ENGINE=${ENGINE:-127.0.0.1:7402}

call() {
    .venv/bin/buf curl --protocol grpc --http2-prior-knowledge --schema protos/released/okey.binpb \
        -H "authorization: Bearer $TOKEN" -d "$2" "http://$1"
}

# The value at a path of names in the JSON that comes in.
field() {
    .venv/bin/python -c 'import functools, json, operator, sys
print(functools.reduce(operator.getitem, sys.argv[1:], json.load(sys.stdin)))' "$@"
}

new_id() { .venv/bin/python -c 'import secrets; print(secrets.token_hex(12))'; }

wish='{"request_id": "'$(new_id)'", "terms": {"seat_count": 2, "stake": 100}}'
table=$(call "$LOBBY/okey.api.lobby.v1.LobbyService/CreateTable" "$wish" | field tableId)
echo "table $table"

call "$ENGINE/okey.api.engine.v1.TableService/WhereAmI" '{}'
call "$ENGINE/okey.api.engine.v1.TableService/GetTable" '{"table_id": "'"$table"'"}' | field view phase

# A refusal: status, message, and the details with the reason, on the error output.
call "$LOBBY/okey.api.lobby.v1.LobbyService/CreateTable" \
    '{"request_id": "'"$(new_id)"'", "terms": {"seat_count": 2, "stake": 100}}' 2>&1 || true

call "$LOBBY/okey.api.lobby.v1.LobbyService/LeaveTable" \
    '{"table_id": "'"$table"'", "request_id": "'"$(new_id)"'"}'
echo "left"
