"""The servers that tests of stores start: each a real one on loopback, with accounts and keys made up for the run."""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import botocore.session
import fsspec
from botocore.config import Config

from tests.servers.ceph import Keys, gateway
from tests.servers.processes import PROGRAMS, answers, free_port, install, new_folder, run, running
from tests.servers.store import Store

_SESSION = botocore.session.get_session()  # each new one reads the descriptions of all services again
_SSHD = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile {folder}/sshd.pid
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
Subsystem sftp internal-sftp
"""


@contextmanager
def ceph() -> Iterator[Store]:
    """Give a Ceph gateway: S3 with signatures checked, conditional requests and versions."""
    install()
    with new_folder("ceph") as folder, gateway(folder) as keys:
        yield _s3("ceph", keys)


@contextmanager
def moto() -> Iterator[Store]:
    """Give moto: S3 that starts at once, and takes any key."""
    port = free_port()
    command = ["moto_server", "-H", "127.0.0.1", "-p", str(port)]
    with new_folder("moto") as folder, running(*command, log=folder / "log", ready=answers(port)):
        yield _s3("moto", Keys(f"http://127.0.0.1:{port}", secrets.token_hex(10).upper(), secrets.token_hex(20)))


@contextmanager
def gcs() -> Iterator[Store]:
    """Give an emulator of Google Cloud Storage, which knows no keys."""
    # Without this, gcsfs asks a service of Google's about each bucket for a minute.
    os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
    port = free_port()
    options = {"token": "anon", "project": "tests", "endpoint_url": f"http://127.0.0.1:{port}"}
    command = ["gcp-storage-emulator", "start", "--host=127.0.0.1", f"--port={port}", "--in-memory"]

    def make_root(name: str) -> str:
        fsspec.filesystem("gcs", **options).mkdir(name)
        return f"gs://{name}"

    with new_folder("gcs") as folder, running(*command, log=folder / "log", ready=answers(port)):
        yield Store(
            name="gcs",
            options=options,
            connection={
                "conn_type": "google_cloud_platform",
                "extra": {"project": "tests", "endpoint_url": options["endpoint_url"], "is_anonymous": True},
            },
            secrets=(),
            make_root=make_root,
        )


@contextmanager
def sftp() -> Iterator[Store]:
    """Give an SSH server that lets the user who runs this in, by a key made for the run."""
    install()
    port = free_port()
    sshd = shutil.which("sshd", path=PROGRAMS)
    if sshd is None:
        msg = "sshd is not installed: run `make servers`"
        raise RuntimeError(msg)
    with new_folder("ssh") as folder:
        for name, kind in (("host_key", ["ed25519"]), ("user_key", ["ecdsa", "-m", "PEM"])):
            run("ssh-keygen", "-q", "-t", *kind, "-N", "", "-C", "tests", "-f", folder / name)
        (folder / "sshd_config").write_text(_SSHD.format(port=port, folder=folder), encoding="utf-8")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # where it locks itself up before it knows who is there
        key = (folder / "user_key").read_text(encoding="utf-8")

        def make_root(name: str) -> str:
            (folder / "files" / name).mkdir(parents=True)
            return f"sftp://127.0.0.1:{port}{folder}/files/{name}"

        command = [sshd, "-D", "-e", "-f", str(folder / "sshd_config")]
        user, key_file = getpass.getuser(), str(folder / "user_key")
        with running(*command, log=folder / "log", ready=answers(port)):
            yield Store(
                name="sftp",
                options={"host": "127.0.0.1", "port": port, "username": user, "client_keys": [key_file]},
                connection={
                    "conn_type": "sftp",
                    "host": "127.0.0.1",
                    "port": port,
                    "login": user,
                    "extra": {"key_file": key_file, "no_host_key_check": True},
                },
                secrets=("".join(key.splitlines()[2:3]),),
                make_root=make_root,
            )


def _s3(name: str, keys: Keys) -> Store:
    def make_root(bucket: str) -> str:
        s3_client(store).create_bucket(Bucket=bucket)
        return f"s3://{bucket}"

    options = {"key": keys.access, "secret": keys.secret, "endpoint_url": keys.endpoint}
    fields = {"login": keys.access, "password": keys.secret, "extra": {"endpoint_url": keys.endpoint}}
    services = {name: {"endpoint_url": keys.endpoint} for name in ("s3", "sts")}
    store = Store(
        name=name,
        options=options,
        connection={"conn_type": "aws", **fields},
        secrets=(keys.secret, keys.guest[1]) if keys.role else (keys.secret,),
        make_root=make_root,
        by_role={
            "conn_type": "aws",
            "login": keys.guest[0],
            "password": keys.guest[1],
            "extra": {"service_config": services, "role_arn": keys.role},
        }
        if keys.role
        else None,
    )
    return store


def s3_client(store: Store) -> Any:
    """Return botocore's client of an S3 store, for what fsspec has no words for."""
    return _SESSION.create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=store.options["endpoint_url"],
        aws_access_key_id=store.options["key"],
        aws_secret_access_key=store.options["secret"],
        config=Config(signature_version="s3v4"),  # of addresses, too
    )
