"""A pipeline and the command line beside it: what a person has at hand who meets an error and does what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import pytest
from click.testing import CliRunner, Result

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.cli.options import spark
from airflow_provider_blockread.errors import BlockReadError
from tests.pipeline.here import ReadHere
from tests.pipeline.make import Pipe
from tests.remedies.advice import commands


class WithoutSpark(ReadHere):
    """In the place of the command line's Spark: jobs run in this very process."""

    def __init__(self, master: str, conf: Mapping[str, str] | None = None, py_files: Sequence[str] = ()) -> None:
        """Take what Spark would."""
        super().__init__()
        self.master, self.conf, self.py_files = master, conf, py_files

    def __enter__(self) -> Self:
        """Return this submitter."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""


def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands run their jobs in this process."""
    monkeypatch.setattr(spark, "InProcessSpark", WithoutSpark)
    monkeypatch.setenv("JAVA_HOME", "/usr")


@dataclass
class Desk:
    """Commands on a pipeline's ledger, called as a message spells them; questions are answered with yes."""

    pipe: Pipe

    @property
    def url(self) -> str:
        """The URL of the ledger."""
        return f"sqlite:///{self.pipe.folder / 'ledger.db'}"

    def call(self, *arguments: str, state: str | None = None) -> Result:
        """Call a command."""
        runner = CliRunner(env={"COLUMNS": None, "BLOCKREAD_STATE": state or self.url})
        return runner.invoke(blockread, list(arguments), input="y\n" * 3)

    def refused(self, *arguments: str, state: str | None = None) -> str:
        """Call a command that ends in an error of this package, and return its message."""
        result = self.call(*arguments, state=state)
        assert isinstance(result.exception, BlockReadError), result.output
        return str(result.exception)

    def done(self, *arguments: str, state: str | None = None) -> str:
        """Call a command that works, and return what it prints."""
        result = self.call(*arguments, state=state)
        assert result.exit_code == 0, f"{arguments}: {result.output} {result.exception!r}"
        return str(result.output)

    def carry_out(self, message: str | BaseException, number: int = 0) -> str:
        """Call the command that a message names, to the letter: the first one, or that of a number."""
        return self.done(*commands(str(message))[number])
