"""A cluster whose drivers work when a test lets them, and go on even if the process that submitted them ends."""

from __future__ import annotations

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.failures import write_failure
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.progress import DriverProgress, write_progress
from airflow_provider_blockread.exchange.signs import read_stop, write_sign
from airflow_provider_blockread.observer import Tally
from tests.pipeline.here import ReadHere


class Cluster(ReadHere):
    """A `DetachedSubmitter`: applications wait in `queued` until one is let to work."""

    def __init__(self) -> None:
        """Begin with no application."""
        super().__init__()
        self.queued: list[Submission] = []
        self.killed: list[str] = []
        self.ended = ""

    @property
    def keeps_secrets(self) -> bool:
        """Whether a driver shares secrets with who submitted it: it runs elsewhere."""
        return False

    def start(self, submission: Submission, *, name: str) -> str:
        """Take an application."""
        self.queued.append(submission)
        return f"application_{name}"

    def submit(self, submission: Submission, *, name: str) -> None:
        """Take an application and wait for its end."""
        self.start(submission, name=name)
        self.work()

    def status(self, application: str) -> str:
        """Return how applications ended."""
        del application
        return self.ended

    def kill(self, application: str | None) -> None:
        """Note that an application was to be stopped; without its id the newest one."""
        self.killed.append(application or "own")

    def live(self) -> None:
        """Let the oldest application's driver leave a sign of life."""
        write_sign(self.stores, self.queued[0], "1")

    def progress(self, tally: Tally) -> None:
        """Let the oldest application's driver leave its progress."""
        write_progress(self.stores, self.queued[0], DriverProgress(tally=tally))

    def work(self) -> bool:
        """Let the oldest application work to its end, unless it is to stop; return whether it has worked."""
        submission = self.queued.pop(0)
        if read_stop(self.stores, submission) is not None:
            return False
        try:
            super().submit(submission, name="")
        except BlockReadError as error:
            write_failure(self.stores, submission, error)
        return True
