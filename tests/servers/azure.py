"""Azurite, the emulator of Azure's storage, with accounts and keys made up for the run."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import fsspec
from azure.core.utils import parse_connection_string
from azure.storage.blob import (
    AccessPolicy,
    AccountSasPermissions,
    ContainerClient,
    ContainerSasPermissions,
    ResourceTypes,
    Services,
    generate_account_sas,
    generate_container_sas,
)

from tests.servers.processes import ROOT, answers, free_port, install, new_folder, running
from tests.servers.store import Store

_AZURITE = ROOT / ".servers/node_modules/azurite/dist/src/azurite.js"
_QUIET = ("--silent", "--skipApiVersionCheck", "--disableTelemetry", "--inMemoryPersistence")


@contextmanager
def azurites(count: int) -> Iterator[list[Store]]:
    """Give some accounts of one Azurite, each with blobs and queues."""
    install()
    if not _AZURITE.exists():
        msg = "azurite is not installed: run `make servers`"
        raise RuntimeError(msg)
    ports = {service: free_port() for service in ("blob", "queue", "table")}
    command = ["node", str(_AZURITE), *_QUIET]
    for service, port in ports.items():
        command += [f"--{service}Host", "127.0.0.1", f"--{service}Port", str(port)]
    stores = [_account(ports) for _ in range(count)]
    accounts = {"AZURITE_ACCOUNTS": ";".join(f"{account_of(one)}:{one.secrets[0]}" for one in stores)}

    def ready() -> bool:
        return all(answers(port)() for port in ports.values())

    with new_folder("az") as folder, running(*command, log=folder / "log", ready=ready, environment=accounts):
        yield stores


def account_of(store: Store) -> str:
    """Return the name of an account."""
    return _parts(store)["accountname"]


def address_of(store: Store, service: str) -> str:
    """Return where an account's `blob` or `queue` is served."""
    return _parts(store)[f"{service}endpoint"]


def signature(store: Store, lasts: timedelta) -> str:
    """Return a SAS of an account for all that it holds, from an hour before it ends."""
    ends = datetime.now(UTC) + lasts
    return generate_account_sas(
        account_of(store),
        store.secrets[0],
        services=Services(blob=True, queue=True),
        resource_types=ResourceTypes(service=True, container=True, object=True),
        permission=AccountSasPermissions.from_string("rwdlacupt"),
        start=ends - timedelta(hours=1),
        expiry=ends,
    )


def withdrawable(store: Store, root: str) -> tuple[str, Callable[[], None]]:
    """Return a connection string for a root's container by a signature that follows a policy, and what ends that."""
    name = root.partition("://")[2].partition("/")[0]
    client = ContainerClient.from_connection_string(str(store.options["connection_string"]), name)
    now = datetime.now(UTC)
    policy = AccessPolicy(
        ContainerSasPermissions(read=True, list=True), now + timedelta(hours=1), now - timedelta(hours=1)
    )
    client.set_container_access_policy({"while": policy})
    token = generate_container_sas(account_of(store), name, account_key=store.secrets[0], policy_id="while")

    def withdraw() -> None:
        client.set_container_access_policy({})

    return f"BlobEndpoint={address_of(store, 'blob')};SharedAccessSignature={token}", withdraw


def _parts(store: Store) -> dict[str, str]:
    return dict(parse_connection_string(str(store.options["connection_string"])))


def _account(ports: dict[str, int]) -> Store:
    account, key = f"account{secrets.token_hex(4)}", base64.b64encode(secrets.token_bytes(64)).decode()
    text = f"DefaultEndpointsProtocol=http;AccountName={account};AccountKey={key};"
    for name, service in (("BlobEndpoint", "blob"), ("QueueEndpoint", "queue")):
        text += f"{name}=http://127.0.0.1:{ports[service]}/{account};"

    def make_root(name: str) -> str:
        fsspec.filesystem("abfs", connection_string=text).mkdir(name)
        return f"abfs://{name}"

    return Store(
        name="azurite",
        options={"connection_string": text},
        connection={"conn_type": "wasb", "extra": {"connection_string": text}},
        secrets=(key,),
        make_root=make_root,
    )
