#!/usr/bin/env bash
# Runs `make demo` (twice) and `make up` from a fresh clone of the last commit, on each supported Python that it finds:
# python3.x on PATH, or those of pyenv. Reports at the end which ones it ran and which it did not find.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/pythons.sh
root="$PWD"
UP_S=600 # for `make up`'s "Ctrl-C stops it."; a first start on a busy machine takes a minute

try_up() { # in a separate process group, so that it can be stopped like by Ctrl-C
  local port started waited=0 healthy=1
  port="$("$1" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
  set -m
  make up PORT="$port" PYTHON="$1" >up.log 2>&1 &
  started=$!
  set +m
  until grep -q "Ctrl-C stops it" up.log; do
    if ! kill -0 "$started" 2>/dev/null || [ $((waited += 1)) -gt "$UP_S" ]; then
      kill -INT -- "-$started" 2>/dev/null || true
      cat up.log
      return 1
    fi
    sleep 1
  done
  "$1" -c "import urllib.request as r; r.urlopen('http://127.0.0.1:$port/api/v2/monitor/health', timeout=60)" || healthy=0
  kill -INT -- "-$started"
  wait "$started" || true # the exit code of Ctrl-C
  [ "$healthy" = 1 ] && grep -q "Airflow: stopped" up.log
}

report=""
failed=0
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
for version in 3.11 3.12 3.13 3.14; do
  python="$(interpreter "$version")"
  if [ -z "$python" ]; then
    report+="python$version: not found"$'\n'
    continue
  fi
  began=$SECONDS
  git clone --quiet "$root" "$folder/$version"
  for step in "make demo PYTHON=$python" "make demo PYTHON=$python" "try_up $python"; do
    echo "== python$version: $step"
    if ! (cd "$folder/$version" && $step); then
      report+="python$version: failed at $step"$'\n'
      failed=1
      continue 2
    fi
  done
  report+="$("$python" --version): make demo twice and make up passed, in $((SECONDS - began)) s"$'\n'
  rm -rf "${folder:?}/$version"
done
printf '%s' "$report"
[[ $failed = 0 && "$report" == *passed* ]]
