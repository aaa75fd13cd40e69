"""Work areas in an object store: what attempts have left there is looked for, and removed, at once."""

from __future__ import annotations

import dataclasses
import uuid
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import BlockReadError, SourceError, TransientError
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.steps import PlanRequest
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, propose_pruning, prune
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.ranges import REQUESTS
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe, ReadHere
from tests.servers.proxies import Slow, running
from tests.servers.store import Store
from tests.servers.web_folder import serving

_DAY = 86_400.0
_LISTED = (
    "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>work/a</Key><Size>1</Size></Contents>"
    "<Contents><Key>work/b</Key><Size>1</Size></Contents></ListBucketResult>"
)
_KEPT = "<DeleteResult><Error><Key>work/b</Key><Code>{code}</Code><Message>no</Message></Error></DeleteResult>"


@dataclass
class _Remote(Pipe):
    """A feed whose output is in a store."""

    place: str = ""

    def request(self, key: str, clear_number: int = 0) -> PlanRequest:
        """Return what to plan."""
        found = super().request(key, clear_number)
        generation = dataclasses.replace(found.generation, sink=ParquetSink(self.place))
        return dataclasses.replace(found, generation=generation)


def test_leftovers_of_many_groups_are_removed_at_once(tmp_path: Path, moto: Store) -> None:
    """Copies in the work area go, receipts stay; once the window is old, its whole folder goes."""
    root = moto.new_root()
    with running(Slow(moto.port, seconds=0.02)) as proxy:
        stores = moto.behind(root, proxy.port)
        pipe = _Remote(folder=tmp_path, submitter=ReadHere(stores), place=f"{root}/out", group_bytes=2)
        pipe.env = dataclasses.replace(pipe.env, stores=stores)
        pipe.put({f"{number:02}.txt": b"x\n" for number in range(12)})
        assert pipe.run().records == 12
        everything = PruneRequest(older_than=_DAY, keep=0)
        proxy.most = 0
        assert propose_pruning(pipe.env, everything).leftovers == 12
        assert 2 < proxy.most <= REQUESTS
        proxy.most = 0
        assert prune(pipe.env, everything).leftovers == 12
        assert 2 < proxy.most <= REQUESTS

        def left(ending: str) -> int:
            found = list_files(stores, FileSource(root, pattern=f"**/*{ending}"), now_s=0)
            return len(list(found))

        assert (left("data/*.parquet"), left("receipts.parquet"), left("out/*.parquet")) == (0, 12, 12)
        pipe.pass_seconds(2 * _DAY)
        assert prune(pipe.env, everything).windows == 1
        assert (left("receipts.parquet"), left("out/*.parquet")) == (0, 12)
        pipe.close()


class _Keeps(BaseHTTPRequestHandler):
    """Lists two objects, and deletes only the first, which it reports in an answer with the status 200."""

    code = ""

    def do_GET(self) -> None:
        """List."""
        self._answer(_LISTED)

    def do_POST(self) -> None:
        """Delete."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(_KEPT.format(code=self.code))

    def _answer(self, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.mark.parametrize(("code", "kind"), [("AccessDenied", SourceError), ("InternalError", TransientError)])
def test_objects_that_are_not_deleted_are_an_error(code: str, kind: type[BlockReadError]) -> None:
    """S3 deletes many objects in one request, whose answer is an error only inside; the folder is pruned later."""
    for address in serving(type("Such", (_Keeps,), {"code": code})):
        options = {"key": "K", "secret": "S", "endpoint_url": address, "client_kwargs": {"region_name": "us-east-1"}}
        with pytest.raises(kind, match=code):
            Stores({"s3://b": options}).remove_folder("s3://b/work")


def test_a_folder_whose_name_looks_like_a_glob_is_removed_alone(store: Store) -> None:
    """Its characters stand for themselves."""
    root = store.new_root()
    _removes_exactly(store.stores(root), root)


def test_a_folder_in_memory_whose_name_looks_like_a_glob_is_removed_alone() -> None:
    """As on servers."""
    _removes_exactly(Stores(), f"memory:///{uuid.uuid4()}")


def _removes_exactly(stores: Stores, root: str) -> None:
    alike = {"b*": "bc"}
    if not root.startswith("abfs:"):  # whose client takes names with these for others, so that they are refused
        alike |= {"a[1]": "a1", "c?": "cd"}
    for name in (*alike, *alike.values()):
        stores.makedirs(f"{root}/{name}/in")
        for file in ("x y", "in/x"):
            stores.write_bytes_atomic(f"{root}/{name}/{file}", b"x")
    for name in (*alike, "none"):
        stores.remove_folder(f"{root}/{name}")

    assert sorted(stores.list_folders(root)) == sorted(f"{root}/{name}" for name in alike.values())
