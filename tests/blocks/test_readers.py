"""The readers of a window: within limits, never fewer for more work, and the same for the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks.readers import DEFAULT_RATE, ReaderGoal, choose_readers, share_of

sizes = st.integers(0, 2**50)
counts = st.integers(1, 5000)
rates = st.integers(1, 2**34)
seconds = st.floats(0.001, 1e6)


@st.composite
def goals(draw: st.DrawFn) -> ReaderGoal:
    """Return limits of which the upper one, if any, is not below the lower one."""
    least, most = draw(counts), draw(st.none() | counts)
    return ReaderGoal(target_s=draw(seconds), least=min(least, most or least), most=most)


@given(size=sizes, blocks=st.integers(0, 10**6), rate=rates, goal=goals())
def test_readers_are_within_all_limits(size: int, blocks: int, rate: int, goal: ReaderGoal) -> None:
    """Between the user's limits, except that a block has one reader at most; and always one at least."""
    choice = choose_readers(size, blocks, rate=rate, windows=3, goal=goal)

    assert 1 <= choice.readers <= max(blocks, 1)
    assert goal.most is None or choice.readers <= goal.most
    assert choice.readers >= goal.least or choice.why == "blocks"
    assert choice == choose_readers(size, blocks, rate=rate, windows=3, goal=goal)


@given(size=sizes, blocks=counts, rate=rates, goal=goals(), more=st.integers(0, 2**50), slower=st.integers(0, 2**34))
def test_more_work_never_gets_fewer_readers(
    size: int, blocks: int, rate: int, goal: ReaderGoal, more: int, slower: int
) -> None:
    """More bytes, slower readers or a shorter target: the number stays or grows."""
    readers = choose_readers(size, blocks, rate=rate, windows=1, goal=goal).readers

    assert choose_readers(size + more, blocks, rate=rate, windows=1, goal=goal).readers >= readers
    assert choose_readers(size, blocks, rate=max(rate - slower, 1), windows=1, goal=goal).readers >= readers
    shorter = replace(goal, target_s=goal.target_s / 2)
    assert choose_readers(size, blocks, rate=rate, windows=1, goal=shorter).readers >= readers


@given(size=sizes, rate=st.integers(10**6, 2**34), target_s=st.floats(1, 1e6))
def test_the_target_is_met_where_no_limit_stands_against_it(size: int, rate: int, target_s: float) -> None:
    """At the rate of the choice the window takes no longer than asked, and one reader fewer would take too long."""
    choice = choose_readers(size, 2**60, rate=rate, windows=1, goal=ReaderGoal(target_s=target_s))

    assert choice.seconds <= target_s * 1.001
    assert choice.readers == 1 or size / ((choice.readers - 1) * rate) > target_s * 0.999


@pytest.mark.parametrize(
    ("size", "blocks", "limits", "readers", "why"),
    [
        (10**11, 1500, {}, 6, "backlog"),
        (10**11, 1500, {"most": 4}, 4, "most"),
        (10**11, 1500, {"least": 8}, 8, "least"),
        (10**11, 2, {"least": 8}, 2, "blocks"),
        (0, 0, {"least": 8}, 1, "blocks"),
        (1, 1, {}, 1, "backlog"),
        (10**12, 15_000, {"least": 3, "most": 3}, 3, "most"),
    ],
)
def test_why_a_number_was_chosen(size: int, blocks: int, limits: dict[str, int], readers: int, why: str) -> None:
    """What decided, at the default rate and a target of ten minutes."""
    goal = ReaderGoal(target_s=600, **limits)
    choice = choose_readers(size, blocks, rate=DEFAULT_RATE, windows=0, goal=goal)

    assert (choice.readers, choice.why) == (readers, why)


@given(groups=st.integers(1, 1000), more=st.integers(0, 10_000))
def test_groups_share_all_readers(groups: int, more: int) -> None:
    """The shares of a window's groups are its readers, and differ by one at most."""
    readers = groups + more
    shares = [share_of(readers, groups, group) for group in range(groups)]

    assert sum(shares) == readers
    assert max(shares) - min(shares) <= 1
