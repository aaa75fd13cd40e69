"""Regular expressions as patterns: what they match, and which folders they skip."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage.listing.regexes import compile_regex
from airflow_provider_blockread.storage.listing.rules import NameRules
from tests.examples import examples

PIECES = [
    *("a", "b", ".", "*", "+", "?", "/", "/.*", "/.+", ".*", "|", "(", ")", "(?:", "(?=a", "(?!.*b", "(?>a*)", "(?i)"),
    *("[ab]", "[^a]", "[]a]", "[^]|(]", "$", "^", r"\b", r"\B", r"\.", r"\/", r"\Z", "{2}", "{0,1}", "a*+", "é", "\n"),
    *("(?x)", " ", "#", "(?<=a)", "(a)", r"\1", r"\x61", r"\d", r"\u0061"),
]


def valid(text: str) -> bool:
    """Return whether Python takes the expression."""
    try:
        re.compile(text)
    except re.error:
        return False
    return bool(text.strip())


REGEXES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join).filter(valid)
PATHS = st.lists(st.text("ab.é\n#| ", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@pytest.mark.slow
@examples(1000)
@given(st.lists(REGEXES, min_size=1, max_size=2), st.lists(REGEXES, max_size=2), PATHS)
def test_no_folder_above_a_wanted_file_is_left_out(patterns: list[str], excludes: list[str], path: str) -> None:
    """Whatever the expressions are, folders that a listing skips contain no matching file."""
    source = FileSource(
        "/", pattern=[f"re:{text}" for text in patterns], exclude=[f"re:{text}" for text in excludes], hidden=True
    )
    rules = NameRules(source)
    wanted = any(re.fullmatch(text, path, re.DOTALL) for text in patterns) and not any(
        re.fullmatch(text, path, re.DOTALL) for text in excludes
    )

    assert rules.matches(path) == wanted


@pytest.mark.parametrize(
    ("pattern", "folder", "entered"),
    [
        (r"2024/.*\.csv", "2024", True),
        (r"2024/.*\.csv", "2023", False),
        (r"2024/1\d/.*", "2024/0", False),
        (r"2024/1\d/.*", "2024/10", True),
        (r"a\.b/c?d/.*", "a.b/d", True),
        (r"a\.b/c?d/.*", "axb", False),
        (r"a|b/.*", "b", True),
        (r"(?i)a/.*", "A", True),
    ],
)
def test_a_beginning_in_plain_letters_spares_other_folders(pattern: str, folder: str, entered: bool) -> None:  # noqa: FBT001
    """Only folders that match its literal prefix are entered."""
    assert NameRules(FileSource("/", pattern=f"re:{pattern}")).enters(folder) is entered


@pytest.mark.parametrize(
    ("exclude", "folder", "entered"),
    [
        ("archive/.*", "archive", False),
        ("archive/.+", "archive", False),
        ("archive.*", "archive-2", False),
        (".*/tmp/.*", "a/tmp", False),
        (".*/tmp/.*", "tmp", True),
        ("(old|tmp)/.*", "tmp", False),
        ("tmp/.*|x", "tmp", True),
        (r"tmp/.*\.csv", "tmp", True),
        ("tmp/(?!keep).*", "tmp", True),
        ("tmp/$.*", "tmp", True),
    ],
)
def test_a_tree_that_is_excluded_for_certain_is_not_entered(exclude: str, folder: str, entered: bool) -> None:  # noqa: FBT001
    """An expression that ends with anything skips whole trees; one with a lookahead does not."""
    assert NameRules(FileSource("/", exclude=f"re:{exclude}")).enters(folder) is entered


def test_globs_and_expressions_are_joined() -> None:
    """A path must match one of either; an exclusion of either leaves it out."""
    rules = NameRules(FileSource("/", pattern=["*.csv", r"re:\d+/.*\.log"], exclude=["x*", r"re:.*-draft\..*"]))
    expected = {"a.csv": True, "12/a.log": True, "b/a.log": False, "x.csv": False, "d/a-draft.csv": False}

    assert {path: rules.matches(path) for path in expected} == expected


@pytest.mark.parametrize("pattern", ["re:", "re: ", "re:(", "re:a**", "re:[z-a]", "re:a{99999999999999999999}"])
def test_what_is_no_expression_is_refused(pattern: str) -> None:
    """The error shows it and explains patterns without `re:`."""
    with pytest.raises(OptionsError, match="re:"):
        NameRules(FileSource("/", pattern=pattern))


def test_an_expression_sees_all_of_a_path() -> None:
    """A dot is any character, also a line feed, and the whole path must match."""
    assert compile_regex(".*").regex.fullmatch("a\nb/c")
    assert not NameRules(FileSource("/", pattern="re:a")).matches("ab")
