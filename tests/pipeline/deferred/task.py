"""An Airflow task that reads a group in two phases, and whose worker may be killed in between."""

from __future__ import annotations

import json
from dataclasses import dataclass

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.ledger.windows.groups import record_submission
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.steps import Caller, DeferredRead, ReadOutcome, Waiting, WindowRef
from tests.pipeline.deferred.cluster import Cluster
from tests.pipeline.make import Pipe


@dataclass
class Task:
    """An Airflow task that reads the only group of a window."""

    pipe: Pipe
    cluster: Cluster
    ref: WindowRef
    clear_number: int = 0
    owner: str = "task"

    @property
    def read(self) -> DeferredRead:
        """A try of the task, or the rest of it."""
        return DeferredRead(
            env=self.pipe.env,
            ref=self.ref,
            group=0,
            caller=Caller(owner=self.owner, clear_number=self.clear_number),
            job=SparkJob(heartbeat_s=0.01),
            submitter=self.cluster,
        )

    def start(self) -> Waiting:
        """Run the task until it is deferred; what it waits for goes through JSON, as Airflow keeps it."""
        found = self.read.start()
        assert isinstance(found, Waiting)
        return Waiting.from_json(json.loads(json.dumps(found.to_json())))

    def killed(self) -> None:
        """Run the task until it is killed, when its application is submitted and nobody knows its id."""
        waiting = self.start()
        assert waiting.claim is not None
        record_submission(self.pipe.env.ledger, waiting.claim, spec_hash=waiting.spec_hash)

    def finish(self) -> ReadOutcome:
        """Run the rest of the task, where it ends."""
        found = self.read.resume()
        assert isinstance(found, ReadOutcome)
        return found

    @property
    def group(self) -> Group:
        """The group, as the ledger knows it."""
        return list_groups(self.pipe.env.ledger, self.ref.window, self.ref.generation)[0]

    def publishes(self, *values: str) -> bool:
        """Return whether the window publishes just these values."""
        return self.pipe.commit(self.ref).records == len(values) and self.pipe.values() == sorted(values)
