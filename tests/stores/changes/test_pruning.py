"""Work areas in an object store: what attempts have left there is looked for, and removed, at once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.steps import PlanRequest
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, propose_pruning, prune
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.ranges import REQUESTS
from tests.pipeline.make import Pipe, ReadHere
from tests.servers.proxies import Slow, running
from tests.servers.store import Store

_DAY = 86_400.0


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
