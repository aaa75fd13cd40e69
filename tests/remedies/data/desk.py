"""The command line as a user has it, but for Spark: runs read in this very process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow.dataset as ds
import pytest
from click.testing import Result

from airflow_provider_blockread.errors import BlockReadError
from tests.cli.place import Place
from tests.remedies.advice import commands


@dataclass(frozen=True)
class Desk(Place):
    """A source, an output and a ledger, and the commands that a user calls on them."""

    def done(self, *arguments: str) -> Result:
        """Call a command, which must succeed."""
        result = self.call(*arguments)
        if result.exception is not None:
            raise result.exception
        return result

    def says(self, *arguments: str) -> str:
        """Call a command, which must fail, and return its error's message."""
        with pytest.raises(BlockReadError) as raised:
            self.done(*arguments)
        return str(raised.value)

    def reading(self, *options: str) -> list[str]:
        """Return the arguments of a run from source to output."""
        return ["run", str(self.source), "--output", str(self.folder / "out"), *options]

    def fails(self, *options: str) -> str:
        """Run, and return the error's message; nothing is published."""
        before = self.rows()
        said = self.says(*self.reading(*options))
        assert self.rows() == before
        return said

    def runs(self, *options: str) -> list[dict[str, Any]]:
        """Run, and return all that is published then."""
        self.done(*self.reading(*options))
        return self.rows()

    def rows(self) -> list[dict[str, Any]]:
        """Return what a plain reader of the output finds."""
        out = self.folder / "out"
        return ds.dataset(str(out), format="parquet").to_table().to_pylist() if out.exists() else []

    def records(self, name: str, *options: str) -> list[str]:
        """Return the records of a file as `blockread records` prints them."""
        lines = self.shown(name, *options).splitlines()
        return [shown.get("record", shown.get("record_b64")) for shown in map(json.loads, lines)]

    def shown(self, name: str, *options: str) -> str:
        """Return what `blockread records` prints of a file."""
        return self._without_ledger("records", str(self.source / name), *options)

    def unread(self, name: str, *options: str) -> str:
        """Return why `blockread records` fails for a file."""
        with pytest.raises(BlockReadError) as raised:
            self.shown(name, *options)
        return str(raised.value)

    @staticmethod
    def _without_ledger(*arguments: str) -> str:
        from click.testing import CliRunner

        from airflow_provider_blockread.cli.commands import blockread

        result = CliRunner().invoke(blockread, arguments)
        if result.exception is not None:
            raise result.exception
        return result.stdout

    def exclude(self, message: str) -> None:
        """Leave a file out of its window, by the command that a message names."""
        [command] = [found for found in commands(message) if found[:2] == ["windows", "exclude"]]
        self.done(*command, "--yes")
