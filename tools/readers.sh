#!/usr/bin/env bash
# Reads Delta and Iceberg tables after each change of a window with chDB, and with DuckDB and its extensions, all of which
# have readers of their own, and publishes into an Iceberg table of a REST catalog. These take 1.5 GB, so each is installed
# into an environment that goes afterwards. DuckDB's version is the newest one whose extensions the package index has.
set -euo pipefail
cd "$(dirname "$0")/.."
uv="$(command -v uv || echo "$PWD/.uv/bin/uv")"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

install() { # into an environment of this name: packages
  "$uv" venv --quiet --python .venv/bin/python "$folder/$1"
  "$uv" pip install --quiet --python "$folder/$1/bin/python" "${@:2}"
}

install engines chdb==4.4.0 duckdb==1.5.5 duckdb-extensions==1.5.5 \
  duckdb-extension-avro==1.5.5 duckdb-extension-delta==1.5.5 duckdb-extension-iceberg==1.5.5
.venv/bin/python -m tests.readers "$folder/engines/bin/python"
install catalog lakana-server==0.20.0
.venv/bin/python -m tests.readers.rest "$folder/catalog/bin/lakana-server"
