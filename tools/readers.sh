#!/usr/bin/env bash
# Reads Delta and Iceberg tables after each change of a window with chDB, and with DuckDB and its extensions, all of which
# have readers of their own: 1.1 GB, so they are installed into an environment that goes afterwards. DuckDB's version is the
# newest one whose extensions the package index has.
set -euo pipefail
cd "$(dirname "$0")/.."
uv="$(command -v uv || echo "$PWD/.uv/bin/uv")"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
"$uv" venv --quiet --python .venv/bin/python "$folder/environment"
"$uv" pip install --quiet --python "$folder/environment/bin/python" chdb==4.4.0 duckdb==1.5.5 duckdb-extensions==1.5.5 \
  duckdb-extension-avro==1.5.5 duckdb-extension-delta==1.5.5 duckdb-extension-iceberg==1.5.5
.venv/bin/python -m tests.readers "$folder/environment/bin/python"
