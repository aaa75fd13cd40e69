"""Tests of what every kind of sink must do: write, count, publish in steps, find out, replace, undo and sweep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import ClassVar

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_blockread.errors import BlockReadError, ExchangeError, FencedError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import State
from airflow_provider_blockread.testing.bench import BLOCK, SCHEMA, Bench, SinkCase, batch

_VALUES = st.lists(st.text(st.characters(exclude_characters="\n\0", codec="utf-8"), max_size=8), max_size=6)

#: Hypothesis counts each subclass as another executor of the same test; sinks may be slow.
_LAW = settings(deadline=None, suppress_health_check=[HealthCheck.differing_executors])


class _OfCase:
    """Tests of the sink that a subclass names in `case`."""

    case: ClassVar[SinkCase]

    @contextmanager
    def opened(self) -> Iterator[Bench]:
        """Yield a sink whose place does not exist yet, in a temporary folder that is removed afterwards."""
        with TemporaryDirectory() as folder:
            yield Bench(self.case, f"{folder}/out")


class SinkBehaviour(_OfCase):
    """What a sink must do, with one example of each behaviour."""

    @pytest.fixture
    def bench(self) -> Iterator[Bench]:
        """Yield the sink."""
        with self.opened() as made:
            yield made

    def test_a_task_leaves_named_files_that_say_their_size_and_rows(self, bench: Bench) -> None:
        """Names carry window, generation, group, epoch and attempt; the rows can be counted from a file alone."""
        (file,) = bench.stage("x")
        name = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=9)

        assert name.is_kin(bench.target.folder, file.uri, bench.option.suffix)
        assert not name.is_kin(f"{bench.target.folder}/other", file.uri, bench.option.suffix)
        assert (file.rows, file.size) == (2, bench.stores.stat(file.uri).size)
        assert bench.sink.count(replace(file, rows=9)) == 2

    def test_nothing_is_made_before_something_is_published(self, bench: Bench) -> None:
        """Preparing creates no folder; publishing no steps creates an output without files."""
        assert not bench.stores.exists(bench.place)
        bench.apply([])

        assert bench.values() == []
        assert bench.stores.exists(bench.place) or bench.place.startswith("memory:") or not bench.case.in_folder

    def test_no_rows_make_no_file(self, bench: Bench) -> None:
        """A writer that got no rows leaves no files."""
        writer = bench.writer(SCHEMA)
        writer.write(batch(), BLOCK)

        assert writer.close() == []
        assert list(bench.stores.list_names(bench.target.folder)) == []

    def test_rows_of_another_schema_are_refused(self, bench: Bench) -> None:
        """All files of a job have one schema: the given one, or else that of the first rows."""
        writer = bench.writer(SCHEMA)
        with pytest.raises(BlockReadError):
            writer.write(pa.RecordBatch.from_pydict({"other": ["x"]}), BLOCK)
        writer.abort()

    def test_an_aborted_attempt_leaves_nothing(self, bench: Bench) -> None:
        """Finished files and the open one are removed."""
        writer = bench.writer()
        for _ in range(3):
            writer.write(batch("x" * 1000), BLOCK)
        writer.abort()

        assert list(bench.stores.list_names(bench.target.folder)) == []

    def test_what_is_published_is_read_and_publishing_can_be_repeated(self, bench: Bench) -> None:
        """Readers find each row once, however often the steps are taken."""
        files = bench.stage("x", "y")
        steps = bench.steps(files)
        before = bench.states(steps)
        for _ in range(2):
            bench.apply(steps)

        assert (set(before), set(bench.states(steps))) == ({State.NOT_APPLIED}, {State.APPLIED})
        assert bench.values() == ["x", "x", "y", "y"]
        assert [bench.sink.count(bench.sink.placed(file)) for file in files] == [2, 2]

    def test_a_crash_between_a_step_and_its_record_is_repaired_by_repeating(self, bench: Bench) -> None:
        """A file whose source is gone because the file is already published counts as published."""
        files = bench.publish("x", "y")
        for file in files if not bench.is_in_place else ():
            bench.stores.remove(file.uri)
        steps = bench.steps(files)
        bench.apply(steps)

        assert set(bench.states(steps)) == {State.APPLIED}
        assert bench.values() == ["x", "x", "y", "y"]

    def test_a_file_in_neither_place_is_an_error(self, bench: Bench) -> None:
        """A staged file that was lost before it was published is distinguished from one that is published."""
        (file,) = bench.stage("x")
        bench.stores.remove(file.uri)
        steps = bench.steps([file])

        assert State.UNKNOWN in bench.states(steps)
        with pytest.raises(ProofError, match="clear the run"):
            bench.apply(steps)

    def test_a_truncated_file_is_never_read(self, bench: Bench) -> None:
        """A staged file whose size differs from what its writer reported is refused before readers could see it."""
        (file,) = bench.stage("x")
        bench.stores.write_bytes_atomic(file.uri, bench.stores.read_bytes(file.uri)[:-1])

        with pytest.raises(BlockReadError, match=f"instead of {file.size}"):
            bench.apply(bench.steps([file]))
        assert bench.values() == []

    def test_a_published_file_that_was_cut_is_not_whole(self, bench: Bench) -> None:
        """A copy that was interrupted by a crash does not count as published; the commit of a table is atomic."""
        files = bench.publish("x")
        if bench.is_table:
            return
        uri = bench.sink.placed(files[0]).uri
        bench.stores.write_bytes_atomic(uri, bench.stores.read_bytes(uri)[:-1])

        assert State.APPLIED not in bench.states(bench.steps(files))

    def test_a_missing_file_is_not_counted(self, bench: Bench) -> None:
        """The error names it."""
        (file,) = bench.stage("x")
        bench.stores.remove(file.uri)

        with pytest.raises(ProofError, match=file.uri):
            bench.sink.count(file)

    def test_a_publisher_that_lost_its_right_changes_nothing(self, bench: Bench) -> None:
        """Each call checks that the publisher still has the right, before anything is changed."""

        def overtaken() -> None:
            raise FencedError

        bench.publish("a", window="cd34")
        files = bench.stage("x")
        with pytest.raises(FencedError):
            bench.sink.apply(bench.steps(files), bench.marker, overtaken)

        assert bench.values() == ["a", "a"]

    def test_an_overtaken_publisher_finds_nothing_to_publish(self, bench: Bench) -> None:
        """What was undone stays undone, even on stores whose moves leave the source behind; undoing can be repeated.

        Other windows are not touched.
        """
        bench.publish("a", window="cd34")
        files = bench.publish("x")

        assert [bench.undo(files) for _ in range(2)] == [1, 0]
        with pytest.raises(ProofError, match="is gone"):
            bench.apply(bench.steps(files))
        assert bench.values() == ["a", "a"]

    def test_new_files_are_there_before_earlier_ones_go(self, bench: Bench) -> None:
        """Between any two steps a reader finds all of the old or all of the new rows, and in the end only the new ones.

        Other windows are not touched.
        """
        bench.publish("a", window="cd34")
        old = bench.publish("x", "y")
        new = bench.stage("x", "y", "z", generation=2)
        seen = []
        for step in bench.steps(new, old):
            bench.apply([step])
            seen.append(bench.values())

        assert all(set(values) >= {"x", "y"} for values in seen)
        assert seen[-1] == ["a", "a", "x", "x", "y", "y", "z", "z"]

    def test_a_file_that_is_carried_over_stays(self, bench: Bench) -> None:
        """A file in both generations is neither published twice nor removed."""
        old = bench.publish("x", "y")
        new = [old[0], *bench.stage("z", generation=2)]
        bench.apply(bench.steps(new, old))

        assert bench.values() == ["x", "x", "z", "z"]

    @pytest.mark.parametrize("name", ["x", "part-wab-g1-00000-e1-t0-0000{}.tmp", "part-00000-uuid{}"])
    def test_only_names_of_a_writer_are_published(self, bench: Bench, name: str) -> None:
        """A file whose name is not one that a group's writer gives is refused."""
        uri = f"{bench.target.folder}/{name.format(bench.option.suffix)}"

        with pytest.raises(ExchangeError, match="will not be published"):
            bench.sink.placed(OutputFile(uri=uri, size=1, rows=1))

    def test_a_sweep_removes_unlisted_files_of_its_window_only(self, bench: Bench) -> None:
        """Of the window, only listed files stay; other windows and foreign files are not touched."""
        if bench.is_in_place:
            bench.stage("of a dead task")
        else:
            bench.publish("of a dead publisher")
        new = bench.publish("new", generation=2)
        bench.publish("other", window="ab1")
        folder = bench.stores.canonical(bench.place)
        for foreign in ("_SUCCESS", f".part-wab12-g1-00000-e1-t0-0000{bench.option.suffix}.1f.tmp"):
            bench.stores.write_bytes_atomic(f"{folder}/{foreign}", b"x")
        keep = [bench.sink.placed(file).uri for file in new]
        removed = bench.sink.sweep("ab12", keep)

        stray = 1 if bench.is_in_place else 2
        assert len(removed) == (stray if bench.case.in_folder else 0)  # else a commit has removed the rows already
        assert bench.values() == ["new", "new", "other", "other"]
        assert bench.stores.exists(f"{folder}/_SUCCESS")
        assert bench.sink.sweep("ab12", keep) == []

    def test_an_output_knows_whether_anything_is_published_there(self, bench: Bench) -> None:
        """An output that does not exist is empty, and so is one that contains only foreign files."""
        folder = bench.stores.canonical(bench.place)
        bench.stores.write_bytes_atomic(f"{folder}/readme", b"x")
        assert bench.sink.is_empty()
        bench.publish("x")

        assert not bench.sink.is_empty()


class SinkLaws(_OfCase):
    """What must hold for any rows, files and crashes."""

    @_LAW
    @given(batches=st.lists(_VALUES, max_size=5))
    def test_every_row_is_written_once(self, batches: list[list[str]]) -> None:
        """For any batches, each row comes out once, in order, and the sink counts as many rows as the writer."""
        with self.opened() as bench:
            writer = bench.writer(SCHEMA)
            for values in batches:
                writer.write(batch(*values), BLOCK)
            files = writer.close()

            read = [row["value"] for file in files for row in bench.case.read(file.uri)]
            assert read == [value for values in batches for value in values]
            assert [bench.sink.count(file) for file in files] == [file.rows for file in files]

    @_LAW
    @given(kept=st.integers(0, 3), new=st.integers(0, 3), dies=st.integers(0, 12), undone=st.booleans())
    def test_wherever_it_dies_repeating_ends_the_same(self, kept: int, new: int, dies: int, *, undone: bool) -> None:
        """Some steps are taken, then all of them: the output holds the new generation, or nothing after an undo."""
        with self.opened() as bench:
            old = bench.publish("a", "b", "c")
            files = old[:kept] + bench.stage(*"xyz"[:new], generation=2)
            steps = bench.steps(files, old)
            for some in (steps[:dies], steps):
                bench.apply(some)
            if undone:
                bench.undo(files)

            assert bench.values() == ([] if undone else sorted([*"abc"[:kept], *"xyz"[:new]] * 2))


class SinkSuite(SinkBehaviour, SinkLaws):
    """All that a sink must do; pytest runs it for each subclass whose name begins with `Test`.

    To pass, a sink must publish exactly once, replace and undo exactly one window, and find out after a crash what was
    done.
    """
