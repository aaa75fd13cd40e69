"""State maps: functions on states that compose associatively."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.records import StateMap

modes = st.integers(0, 2)
shifts = st.just(()) | st.tuples(*[st.integers(-3, 3)] * 3)
maps = st.builds(StateMap, st.tuples(modes, modes, modes), shifts)
states = st.integers(0, 100)


@given(a=maps, b=maps, state=states)
def test_then_is_one_after_the_other(a: StateMap, b: StateMap, state: int) -> None:
    """A composed map has the effect of its parts in turn, including the depth."""
    assert a.then(b)(state) == b(a(state))


@given(a=maps, b=maps, c=maps, state=states)
def test_composing_is_associative(a: StateMap, b: StateMap, c: StateMap, state: int) -> None:
    """How neighbours are grouped does not matter, so blocks may be scanned in any order."""
    assert a.then(b).then(c)(state) == a.then(b.then(c))(state)


@given(a=maps, state=states)
def test_the_identity_changes_nothing(a: StateMap, state: int) -> None:
    """An empty range before or after a range adds nothing."""
    assert StateMap.identity(3).then(a)(state) == a.then(StateMap.identity(3))(state) == a(state)


@given(a=maps)
def test_maps_go_to_json_and_back(a: StateMap) -> None:
    """A map survives a round trip through a file."""
    assert StateMap.from_json(a.to_json()) == a


def test_maps_of_different_formats_do_not_compose() -> None:
    """Different numbers of modes are an error."""
    with pytest.raises(ValueError, match="2 and 3 modes"):
        StateMap.identity(2).then(StateMap.identity(3))
