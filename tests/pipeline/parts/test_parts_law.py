"""Whatever the sizes, formats, blocks and limits: all windows together publish each record once."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import count

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from airflow_provider_blockread.options import Csv, Delimited, FormatOption, JsonArray, Lines, Selection
from airflow_provider_blockread.options.plan import Limits
from tests.examples import examples
from tests.pipeline.make import Pipe

_FEEDS = count()
_MOST = 60  # windows, of at least a block each

texts = st.text('ab,"\n\r|', max_size=30)
arrays = st.lists(st.integers(0, 999) | texts | st.lists(st.integers(0, 9), max_size=3), max_size=6).map(json.dumps)
kinds: st.SearchStrategy[tuple[FormatOption, list[str]]] = st.one_of(
    st.tuples(st.just(Lines()), st.lists(texts, min_size=1, max_size=3)),
    st.tuples(st.just(Delimited(delimiter="|\n|")), st.lists(texts, min_size=1, max_size=3)),
    st.tuples(st.just(Csv(schema="a string, b string")), st.lists(texts, min_size=1, max_size=3)),
    st.tuples(st.just(JsonArray()), st.lists(arrays, min_size=1, max_size=2)),
)
limits = st.builds(
    Limits,
    max_files=st.none() | st.integers(1, 3),
    max_bytes=st.integers(1, 40),
    max_blocks=st.none() | st.integers(1, 4),
)


def _published(pipe: Pipe, data: list[str]) -> Counter[str]:
    """Return what a new feed publishes of these files, window after window, as text."""
    pipe.feed = pipe.out_name = f"feed{next(_FEEDS)}"
    shutil.rmtree(pipe.source)
    pipe.source.mkdir()
    pipe.put({f"{number}.txt": text.encode() for number, text in enumerate(data)})
    for key in range(_MOST):
        if pipe.run(str(key)).status == "empty":
            return Counter(str(row) for row in pipe.rows())
    msg = "windows do not end"
    raise AssertionError(msg)


@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds, limits, st.integers(8, 12), st.sampled_from(["oldest", "newest"]), st.sampled_from([4, 2**20]))
def test_windows_publish_each_record_once(
    here: Pipe, kind: tuple[FormatOption, list[str]], bound: Limits, block: int, order: str, group: int
) -> None:
    """What many windows publish of files in parts is what one window publishes of them whole."""
    here.record_format, data = kind
    here.with_policies(on_bad_record="drop")
    here.block_size, here.group_bytes, here.selection = 2**20, 2**20, Selection()
    whole = _published(here, data)
    here.block_size, here.group_bytes = block, group
    here.selection = Selection(order=order, limits=bound)
    assert _published(here, data) == whole
