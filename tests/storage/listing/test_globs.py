"""Globs, compared with another matcher, and the folders that a listing skips."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage.listing.globs import compile_glob
from airflow_provider_blockread.storage.listing.rules import NameRules
from tests.examples import examples

PIECES = ["a", "b", "*", "?", "**", "/", "/", "**/", "/**", "[ab]", "[!a]", "[", ".", "]", "[a-b]", "é\n", "a/b"]
PATTERNS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join).filter(lambda p: p.strip("/."))
PATHS = st.lists(st.text("ab.[]é\n", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@cache
def within(glob: str, text: str) -> bool:
    """Match a glob of one segment, character by character."""
    if not glob:
        return not text
    if stars := len(glob) - len(glob.lstrip("*")):
        ends = [n for n in range(len(text) + 1) if stars > 1 or "/" not in text[:n]]
        return any(within(glob[stars:], text[n:]) for n in ends)
    close = glob.find("]", 3 if glob.startswith("[!") else 2) if glob[0] == "[" else -1
    if close > 0:
        inside, negated = glob[1:close].removeprefix("!"), glob[1] == "!"
        among = set("ab") if inside == "a-b" else set(inside)
        head = bool(text) and text[0] != "/" and (text[0] in among) != negated
        return head and within(glob[close + 1 :], text[1:])
    head = bool(text) and (text[0] != "/" if glob[0] == "?" else text[0] == glob[0])
    return head and within(glob[1:], text[1:])


def oracle(pattern: str, path: str) -> bool:
    """Match by trying everything, as the globs' documentation says."""
    segments = [segment for segment in pattern.split("/") if segment not in {"", "."}]
    if pattern.endswith("/"):
        segments.append("**")
    if "/" not in pattern:
        segments = ["**", *segments]

    @cache
    def over(index: int, names: tuple[str, ...]) -> bool:
        """Match the segments from one on with these names; a name may hold `/` where `**` spans."""
        if index == len(segments):
            return not names
        if segments[index] == "**":
            if index == len(segments) - 1:
                return bool(names)
            return any(over(index + 1, names[skip:]) for skip in range(len(names) + 1))
        return any(
            within(segments[index], "/".join(names[:take])) and over(index + 1, names[take:])
            for take in range(1, len(names) + 1)
        )

    return over(0, tuple(path.split("/")))


@examples(500)
@given(PATTERNS, PATHS)
def test_a_glob_matches_what_its_documentation_says(pattern: str, path: str) -> None:
    """The compiled regex and a matcher that goes character by character agree."""
    matched = re.fullmatch(compile_glob(pattern).regex, path, re.DOTALL) is not None

    assert matched == oracle(pattern, path)


@pytest.mark.timeout(20)  # without a bound, some would take days
@pytest.mark.parametrize("pattern", ["*_*_*_*_*.csv", "in/*_?*_[_-]*_*.csv", "**/*_*_*_*/*.csv", "_**_**_**_**.csv"])
@pytest.mark.parametrize("end", ["", ".csv/", "/_"])
def test_no_name_keeps_a_plan_busy(pattern: str, end: str) -> None:
    """Whoever lands files chooses their names."""
    assert re.fullmatch(compile_glob(pattern).regex, f"in/{'_' * 4000}{end}", re.DOTALL) is None


@examples(400)
@given(st.lists(PATTERNS, min_size=1, max_size=3), st.lists(PATTERNS, max_size=2), PATHS)
def test_no_folder_above_a_wanted_file_is_left_out(patterns: list[str], excludes: list[str], path: str) -> None:
    """Folders that a listing skips contain no file that the globs match."""
    rules = NameRules(FileSource("/", pattern=patterns, exclude=excludes, hidden=True))
    wanted = any(oracle(p, path) for p in patterns) and not any(oracle(p, path) for p in excludes)
    segments = path.split("/")
    entered = all(rules.enters("/".join(segments[:end])) for end in range(1, len(segments)))

    assert rules.matches(path) == wanted
    assert entered or not wanted


@pytest.mark.parametrize(
    ("pattern", "folder", "entered"),
    [
        ("2024/*.csv", "2024", True),
        ("2024/*.csv", "2023", False),
        ("2024/*.csv", "2024/01", False),
        ("*/in/**", "a/out", False),
        ("*.csv", "any/depth", True),
    ],
)
def test_trees_that_no_pattern_reaches_are_not_entered(pattern: str, folder: str, entered: bool) -> None:  # noqa: FBT001
    """Literal leading segments and a fixed depth skip whole trees."""
    assert NameRules(FileSource("/", pattern=pattern)).enters(folder) is entered


def test_excluded_trees_are_not_entered() -> None:
    """An exclusion of everything below a folder skips its tree, at any depth if it says so."""
    rules = NameRules(FileSource("/", exclude=["archive/**", "**/old/**"]))

    assert not rules.enters("archive")
    assert not rules.enters("a/b/old")
    assert rules.enters("a/archive")


@pytest.mark.parametrize("pattern", ["", "/", "./", "[z-a]"])
def test_what_is_no_glob_is_refused(pattern: str) -> None:
    """A blank pattern or a backward range is an error, not a pattern that matches nothing."""
    with pytest.raises(OptionsError):
        NameRules(FileSource("/", pattern=pattern))


@pytest.mark.parametrize("option", ["pattern", "exclude"])
@pytest.mark.parametrize("glob", ["*.{csv,json}", "{2025,2026}/**", "in/[^_]*.csv"])
def test_what_only_other_globs_mean_is_refused(option: str, glob: str) -> None:
    """Taken literally, it would take no file, exclude none, or take just those that it is meant to leave out."""
    with pytest.raises(OptionsError, match=r"globs here have no .*; write "):
        NameRules(FileSource("/", **{option: glob}))


@pytest.mark.parametrize("option", ["pattern", "exclude"])
@pytest.mark.parametrize(
    ("root", "pattern", "instead"),
    [
        ("/data/in/", "/data/in/*.csv", "*.csv"),
        ("/data//in", "file:///data/in/tmp/**", "tmp/**"),
        ("s3a://b/in", "s3a://b/in/*.csv", "*.csv"),
        ("s3a://b/in", "s3://b/in/*.csv", "*.csv"),
        (["/data/in", "/data/in/sub"], "/data/in/sub/*.csv", "*.csv"),
        (["/data/one", "/data/two"], r"re:/data/two/.*\.csv", r"re:.*\.csv"),
    ],
)
def test_a_pattern_of_whole_paths_is_refused(option: str, root: str | list[str], pattern: str, instead: str) -> None:
    """As other systems have it, it would take no file, or leave none out; the message says what to write."""
    with pytest.raises(OptionsError, match=re.escape(f"write {instead!r}")):
        NameRules(FileSource(root, **{option: [pattern]}))

    assert NameRules(FileSource(root, **{option: ["/in/*.csv", instead]}))


def test_a_folder_of_the_root_s_own_name_is_no_root() -> None:
    """A leading slash binds a glob to the root, in which there may be such a folder."""
    assert NameRules(FileSource("/in", pattern="/in/*.csv")).matches("in/a.csv")


def test_a_brace_and_a_caret_in_a_name_are_taken_literally() -> None:
    """As they are where no other glob has a meaning for them, and a brace also in brackets."""
    rules = NameRules(FileSource("/", pattern=["{a}^*", "[{]a,b}"]))

    assert rules.matches("{a}^b")
    assert rules.matches("{a,b}")
    assert not rules.matches("a")
