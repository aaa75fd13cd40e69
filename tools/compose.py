"""What docker-compose.yml needs besides images: its secrets, its first contents, and checks of health.

python tools/compose.py secrets             writes .env, where it is not there yet
python tools/compose.py prepare             databases, buckets, files and settings; in the service of that name
python tools/compose.py answers URL         succeeds if a web server answers
python tools/compose.py listens HOST:PORT   succeeds if something accepts connections there
python tools/compose.py ledger              prints the ledger's URL, for BLOCKREAD_STATE
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import secrets
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECRETS = (
    "AIRFLOW_API_SECRET_KEY",
    "AIRFLOW_DATABASE_PASSWORD",
    "AIRFLOW_JWT_SECRET",
    "AIRFLOW_PASSWORD",
    "LEDGER_PASSWORD",
    "POSTGRES_PASSWORD",
    "S3_ACCESS_KEY",
    "S3_SECRET_KEY",
    "SPARK_SECRET",
)
_DEFAULTS = """# A standalone cluster makes no secret of its own: master, workers, drivers and executors share this one.
spark.authenticate true
spark.authenticate.secret {secret}
spark.master.rest.enabled false
spark.network.crypto.enabled true
# A driver listens on each of its networks, under the name that SPARK_LOCAL_HOSTNAME says.
spark.driver.bindAddress {address}
# Applications share four cores.
spark.cores.max 2
spark.executor.cores 1
spark.executor.memory 768m
"""


def write_secrets(path: Path) -> bool:
    """Write random secrets into a file that only this user reads, and return True; an existing file stays as it is."""
    if path.exists():
        return False
    made = {name: secrets.token_hex(16) for name in SECRETS}
    made["AIRFLOW_FERNET_KEY"] = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
    text = "".join(f"{name}={value}\n" for name, value in made.items())
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return True


def prepare() -> None:
    """Make what the services start with; a second run changes nothing."""
    home, conf = Path(os.environ["AIRFLOW_HOME"]), Path(os.environ["SPARK_CONF_DIR"])
    defaults = _DEFAULTS.format(secret=os.environ["SPARK_SECRET"], address=os.environ["SPARK_BIND_ADDRESS"])
    _write_private(conf / "spark-defaults.conf", defaults)
    _write_private(
        home / "simple_auth_manager_passwords.json.generated", json.dumps({"admin": os.environ["AIRFLOW_PASSWORD"]})
    )
    _run("airflow", "db", "migrate")
    _run("blockread", "db", "upgrade", BLOCKREAD_STATE=ledger())
    sys.path.insert(0, str(ROOT / "dags"))  # where demo_data is
    _land(Path(os.environ["BLOCKREAD_DEMO_DIR"]) / "landing")


def ledger() -> str:
    """Return the ledger's URL."""
    return str(json.loads(os.environ["AIRFLOW_CONN_BLOCKREAD_DEFAULT"])["extra"]["url"])


def _land(folder: Path) -> None:
    """Make the demo's files, here and in buckets."""
    demo_data = import_module("demo_data")
    from s3fs import S3FileSystem  # noqa: PLC0415 - only in the image

    connection = json.loads(os.environ["AIRFLOW_CONN_S3"])
    store = S3FileSystem(
        key=connection["login"], secret=connection["password"], endpoint_url=connection["extra"]["endpoint_url"]
    )
    if not folder.exists():
        demo_data.make_first(folder)
    for bucket in ("lake", "landing"):
        store.makedirs(bucket, exist_ok=True)
    for number in range(2):
        _put(store, f"landing/logs/web-{number:03}.log", demo_data.log_file, number)
        _put(store, f"landing/events/day={number:02}/events.jsonl", demo_data.event_file, number)


def _put(store: Any, path: str, make: Callable[[int], bytes], number: int) -> None:  # noqa: ANN401 - s3fs has no types
    if not store.exists(path):  # a file that is written again would be a new version
        store.pipe_file(path, make(number))


def _write_private(path: Path, text: str) -> None:
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")


def _run(program: str, *arguments: str, **variables: str) -> None:
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    subprocess.run(command, env={**os.environ, **variables}, check=True)  # noqa: S603 - our own programs


def main() -> int:
    """Do what the arguments say, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("secrets", "prepare", "answers", "listens", "ledger"))
    parser.add_argument("where", nargs="?", default=str(ROOT / ".env"))
    given = parser.parse_args()
    if given.what == "secrets":
        made = write_secrets(Path(given.where))
        print(f"{given.where}: {'written' if made else 'is there, and stays as it is'}")
    elif given.what == "prepare":
        prepare()
    elif given.what == "ledger":
        print(ledger())
    elif given.what == "answers":
        urllib.request.urlopen(given.where, timeout=20).close()  # noqa: S310 - of this deployment
    else:
        host, _, port = given.where.rpartition(":")
        socket.create_connection((host, int(port)), timeout=20).close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
