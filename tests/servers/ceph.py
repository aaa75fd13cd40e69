"""A Ceph gateway, which speaks S3: one monitor, one object store in memory, one gateway, all on loopback."""

from __future__ import annotations

import json
import secrets
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.servers.processes import answers, free_port, run, running

_TRIES = 20
_CONF = """
[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{monitor}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr2 = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000
mon data avail crit = 0
paxos propose interval = 0.1
paxos min wait = 0.05
mon data = {folder}/mon
mon cluster log file = {folder}/cluster.log
run dir = {folder}
log file = {folder}/$name.log
admin socket = {folder}/$name.asok
pid file = {folder}/$name.pid
[osd]
osd objectstore = memstore
memstore device bytes = 3221225472
osd data = {folder}/osd
osd class load list = *
osd heartbeat grace = 60
osd crush update on start = false
osd class update on start = false
osd max object name len = 460
osd max object namespace len = 64
debug osd = 0
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:{gateway}
rgw data = {folder}/rgw
rgw dns name =
keyring = /dev/null
rgw enable usage log = false
rgw run sync thread = false
rgw init timeout = 120
rgw s3 auth use sts = true
rgw sts key = {sts_key}
debug rgw = 1
"""
_ROLE = "writer"
_TRUST = {"Principal": {"AWS": ["arn:aws:iam:::user/guest"]}, "Action": ["sts:AssumeRole"]}
_MAY = {"Action": ["s3:*"], "Resource": ["arn:aws:s3:::*"]}


@dataclass(frozen=True)
class Keys:
    """An S3 endpoint and keys that it knows; `guest` may do nothing but assume the `role`, which may do all."""

    endpoint: str
    access: str
    secret: str
    guest: tuple[str, str] = ("", "")
    role: str = ""


@contextmanager
def gateway(folder: Path) -> Iterator[Keys]:
    """Run a gateway with data and keys of its own; sockets are in the folder, so its path must be short."""
    monitor, port, fsid = free_port(), free_port(), str(uuid.uuid4())
    conf = folder / "ceph.conf"
    places = {"fsid": fsid, "monitor": monitor, "gateway": port, "folder": folder, "sts_key": secrets.token_hex(8)}
    conf.write_text(_CONF.format(**places), encoding="utf-8")
    for name in ("mon", "osd", "rgw"):
        (folder / name).mkdir()
    ask = partial(run, environment={"CEPH_CONF": str(conf)})
    tell = partial(_tell, ask)
    with ExitStack() as stack:

        def serve(log: str, *command: str, ready: Callable[[], bool]) -> None:
            own = {"log": folder / f"{log}.out", "environment": {"CEPH_CONF": str(conf)}}
            stack.enter_context(running(*command, "-f", ready=ready, **own))

        ask("monmaptool", "--create", "--addv", "a", f"[v1:127.0.0.1:{monitor}]", "--fsid", fsid, folder / "monmap")
        ask("ceph-mon", "--mkfs", "-i", "a", "--monmap", folder / "monmap")
        serve("mon", "ceph-mon", "-i", "a", ready=answers(monitor))
        osd = str(uuid.uuid4())
        tell("osd", "new", osd, "0")
        ask("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        tell("osd", "crush", "add", "osd.0", "1", "root=default", "host=localhost")
        serve("osd", "ceph-osd", "-i", "0", ready=lambda: "1 up" in tell("osd", "stat"))
        serve("rgw", "radosgw", "-n", "client.rgw.a", ready=answers(port))
        guest = secrets.token_hex(10).upper(), secrets.token_hex(20)
        own = secrets.token_hex(10).upper(), secrets.token_hex(20)
        for name, (access, secret) in (("tests", own), ("guest", guest)):
            user = [f"--uid={name}", f"--display-name={name}", f"--access-key={access}", f"--secret-key={secret}"]
            ask("radosgw-admin", "user", "create", *user)
        role = [f"--role-name={_ROLE}"]
        ask("radosgw-admin", "role", "create", *role, f"--assume-role-policy-doc={_policy(_TRUST)}")
        ask("radosgw-admin", "role-policy", "put", *role, "--policy-name=all", f"--policy-doc={_policy(_MAY)}")
        yield Keys(f"http://127.0.0.1:{port}", *own, guest=guest, role=f"arn:aws:iam:::role/{_ROLE}")


def _policy(statement: dict[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow"} | statement]})


def _tell(ask: Callable[..., str], *command: str) -> str:
    """Return the monitor's answer to a command that may be repeated.

    A client without keys can send its first command before it has learnt which cluster it talks to, and is refused.
    """
    for _ in range(_TRIES):
        try:
            return ask("ceph", *command)
        except RuntimeError as error:
            refused = error
            time.sleep(0.1)
    raise refused
