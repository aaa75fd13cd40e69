"""Parts planned, published, rebuilt, given up and given back in any order: readers see each record at most once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Csv, Selection
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.examples import examples
from tests.pipeline.make import Pipe, ReadHere

_RECORDS = [f'{number},"{number}\n{number}"\n' for number in range(1, 10)]


@dataclass
class Part:
    """A part of the file, and what has become of it."""

    key: str
    start: int
    end: int
    state: str = "planned"


class Parts(RuleBasedStateMachine):
    """One file, whose lines or rows are owned by the parts in which they begin."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="blockread-")
        self.pipe = Pipe(folder=Path(self.folder.name), submitter=ReadHere(), block_size=8)
        self.chain: list[Part] = []
        self.keys = self.clears = 0

    @initialize(quoted=st.booleans())
    def land(self, *, quoted: bool) -> None:
        """The file lands; only the rows of csv need states."""
        data = "".join(_RECORDS)
        self.pipe.put({"a.txt": data.encode()})
        if quoted:
            self.pipe.record_format = Csv(schema="id string, value string")
        texts = _RECORDS if quoted else data.splitlines(keepends=True)
        places = [len("".join(texts[:number])) for number in range(len(texts))]
        shown = [text.partition(",")[2].strip().strip('"') for text in texts] if quoted else [t[:-1] for t in texts]
        self.size, self.records = len(data), list(zip(places, shown, strict=True))

    def teardown(self) -> None:
        """Close the ledger and remove the folder."""
        self.pipe.close()
        self.folder.cleanup()

    @rule(most=st.integers(1, 40))
    def plan(self, most: int) -> None:
        """A window takes the next part, if there is one."""
        self.keys += 1
        self.pipe.selection = Selection(limits=Limits(max_bytes=most))
        ref = self.pipe.plan(f"k{self.keys}")
        start = self.chain[-1].end if self.chain else 0
        if start == self.size or (self.chain and self.chain[-1].state == "excluded"):
            assert ref.status == "empty"
            return
        assert ref.bytes <= max(most, 8)
        self.chain.append(Part(f"k{self.keys}", start, start + ref.bytes))

    @precondition(lambda self: any(part.state != "excluded" for part in self.chain))
    @rule(data=st.data())
    def publish(self, data: st.DataObject) -> None:
        """A window is taken to its end, for the first time or once more; not before the one before it."""
        place, part = self._draw(data, "planned", "published")
        self.clears += part.state == "published"
        before = place == 0 or self.chain[place - 1].state == "published"
        done = self._try(lambda: self.pipe.run(part.key, clear_number=self.clears), allowed=before)
        part.state = "published" if done else part.state

    @precondition(lambda self: self.chain)
    @rule(data=st.data(), fate=st.sampled_from(["pending", "excluded"]))
    def give_up(self, data: st.DataObject, fate: str) -> None:
        """A window is given up, or what was taken away is given back; not while others continue from it."""
        place, part = self._draw(data, "planned", "published", "excluded")
        behind = {later.state for later in self.chain[place + 1 :]}
        if part.state == "planned":
            if self._try(lambda: abandon(self.pipe.env, self._window(part), who="me"), allowed=not behind):
                self.chain.pop()
            return
        allowed = not behind or (fate == "excluded" and behind == {"excluded"})
        if self._try(lambda: undo(self.pipe.env, self._window(part), files=fate, who="me"), allowed=allowed):
            part.state = "excluded"
            if fate == "pending":
                self.chain.pop()

    @invariant()
    def readers_see_each_record_once(self) -> None:
        """The output holds the records that begin in published parts, each once."""
        shown = [part for part in self.chain if part.state == "published"]
        owned = [text for at, text in self.records if any(part.start <= at < part.end for part in shown)]
        assert self.pipe.values() == sorted(owned)

    def _draw(self, data: st.DataObject, *states: str) -> tuple[int, Part]:
        fit = [(place, part) for place, part in enumerate(self.chain) if part.state in states]
        return data.draw(st.sampled_from(fit))

    def _window(self, part: Part) -> Window:
        return get_window(self.pipe.env.ledger, part.key, "feed")

    def _try(self, action: Callable[[], object], *, allowed: bool) -> bool:
        if allowed:
            action()
            return True
        with pytest.raises(ConflictError, match=r"continues|the part before"):
            action()
        return False


Parts.TestCase.settings = examples(10, stateful_step_count=16, suppress_health_check=list(HealthCheck))
TestParts = pytest.mark.slow(Parts.TestCase)
