#!/bin/sh
# Run once by PostgreSQL's image, on an empty volume: a role and a database for each service.
set -eu
sql() {
    psql --username postgres --dbname postgres --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" "$@"
}
role() {
    sql --set name="$1" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password';
SQL
}
database() {
    sql --set name="$1" --set owner="$2" <<'SQL'
CREATE DATABASE :"name" OWNER :"owner";
SQL
}
# The ledger's schema belongs to a role that only its migration uses: the wallet itself can change no booking.
for name in engine rating wallet wallet_owner; do role "$name"; done
database engine engine
database rating rating
database wallet wallet_owner
