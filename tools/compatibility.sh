#!/usr/bin/env bash
# Runs the unit tests on each supported Python that is found, with the locked dependencies, and on the oldest one with the
# lowest versions that pyproject.toml allows, among them Spark's, with which the tests of DataFrames, of the data source and
# of every engine run, too. Each in an environment of its own; reports at the end which ones ran.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/pythons.sh
root="$PWD"
uv="$(command -v uv || echo "$root/.uv/bin/uv")"
export UV_PYTHON_DOWNLOADS=never

install() { # into an environment: its Python, and `locked` or `lowest`
  if [ "$2" = locked ]; then
    UV_PROJECT_ENVIRONMENT="$environment" "$uv" sync --quiet --frozen --all-extras --no-default-groups --group test --python "$1"
  else
    "$uv" venv --quiet --python "$1" "$environment"
    "$uv" pip compile --quiet --resolution lowest-direct --all-extras --group test --python "$1" \
      --output-file "$folder/lowest.txt" pyproject.toml
    "$uv" pip install --quiet --python "$environment/bin/python" --no-deps --requirement "$folder/lowest.txt" --editable .
  fi
}

spark="tests/pipeline/frames/test_frames.py tests/spark/data_source/test_session.py"
spark+=" tests/spark/engines/test_behaviour.py tests/spark/engines/test_frames.py"

try() { # the tests in an environment, for `locked` or `lowest`
  local in=(make --no-print-directory "VENV=$environment")
  if [ "$1" = locked ]; then
    "${in[@]}" unit
  else # old versions warn of what newer ones of their own dependencies have changed
    "${in[@]}" unit PYTEST_ARGS="-W default" && "${in[@]}" test TESTS="$spark" PYTEST_ARGS="-W default"
  fi
}

report=""
failed=0
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
for pair in 3.11:lowest 3.11:locked 3.12:locked 3.13:locked 3.14:locked; do
  version="${pair%:*}" which="${pair#*:}" environment="$folder/${pair/:/-}"
  python="$(interpreter "$version")"
  if [ -z "$python" ]; then
    report+="python$version, $which dependencies: not found"$'\n'
    continue
  fi
  began=$SECONDS
  echo "== python$version, $which dependencies"
  if install "$python" "$which" && touch "$environment/.ready" && try "$which"; then
    report+="$("$python" --version), $which dependencies: passed, in $((SECONDS - began)) s"$'\n'
  else
    report+="$("$python" --version), $which dependencies: failed"$'\n'
    failed=1
  fi
  rm -rf "$environment"
done
printf '%s' "$report"
[[ $failed = 0 && "$report" == *passed* ]]
