#!/usr/bin/env bash
# Installs what tests start and the lock file does not provide: a Ceph gateway (S3), an SSH server and a browser from
# Debian packages; Azurite (Azure Blob) and axe, which checks pages for accessibility, from npm, into .servers/. Needs
# root or sudo only for missing Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"

# program:package
WANTED="radosgw:radosgw ceph-mon:ceph-mon ceph-osd:ceph-osd ceph:ceph-common radosgw-admin:ceph-common
  sshd:openssh-server ssh-keygen:openssh-client npm:npm setpriv:util-linux
  chromium:chromium"

missing=""
for entry in $WANTED; do
  command -v "${entry%%:*}" >/dev/null || missing="$missing ${entry#*:}"
done

if [ -n "$missing" ]; then
  missing="$(echo "$missing" | tr ' ' '\n' | sort -u | xargs)"
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo -n"
  if ! command -v apt-get >/dev/null || ! $as_root true 2>/dev/null; then
    echo "The tests' servers are missing: $missing. Install them as root, on Debian: apt-get install $missing" >&2
    exit 1
  fi
  # Do not start the packaged services: tests start their own.
  if [ -d /run/systemd/system ] && [[ "$missing" == *openssh-server* ]]; then
    $as_root systemctl mask ssh.service ssh.socket
  fi
  echo "Installing $missing"
  log="$(mktemp)"
  install="apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing"
  if ! $as_root sh -c "$install" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "Could not install $missing: see above; install them by hand, then try again" >&2
    exit 1
  fi
  rm -f "$log"
fi

if ! cmp -s tools/servers/package-lock.json .servers/installed; then
  echo "Filling .servers from tools/servers/package-lock.json"
  rm -rf .servers && mkdir .servers
  cp tools/servers/package.json tools/servers/package-lock.json .servers/
  npm ci --prefix .servers --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
  cp tools/servers/package-lock.json .servers/installed
fi
