#!/bin/sh
# Run once by PostgreSQL's image, on an empty volume: a role and a database for each service.
set -eu
for service in engine wallet rating; do
    psql --username postgres --dbname postgres --set ON_ERROR_STOP=1 \
        --set name="$service" --set password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name";
SQL
done
