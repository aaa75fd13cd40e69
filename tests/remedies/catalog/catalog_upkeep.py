"""Where the remedies of the ledger's upkeep are carried out."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Explained, Remedy

_HERE = "tests/remedies"
_STEPS = (
    "this package calls the steps in this order only, so no user meets it; tests/ledger/windows/test_publishing.py does"
)
_RACE = "plans that meet it choose again by themselves up to four times (tests/crash/test_two_at_once.py)"
_GIVEN_UP = "tests/cli/test_upkeep.py::test_what_is_named_and_not_there_is_an_error"
CATALOG: list[Entry] = [
    Remedy("cli/members.py", "is neither a merged file", "tests/merging/test_members.py::test_members_are_listed"),
    Explained("cli/rebuild.py", "choose another one", f"another window is another command: {_GIVEN_UP}"),
    Explained("cli/rebuild.py", "matches --path", f"another path is another command: {_GIVEN_UP}"),
    Remedy(
        "steps/separation.py",
        "where readers would find its files",
        "tests/pipeline/upkeep/test_cleaned.py::test_an_archive_in_an_output_is_refused",
    ),
    Remedy(
        "steps/upkeep/cleaning_scope.py",
        "does not exist",
        "tests/cli/test_clean.py::test_a_source_that_is_not_there_is_a_typing_error",
    ),
    Remedy(
        "steps/upkeep/handing_over.py",
        "was abandoned",
        f"{_HERE}/test_generations.py::test_a_verification_of_what_was_abandoned",
    ),
    Remedy("steps/excluding.py", "was pruned on", f"{_HERE}/test_generations.py::test_a_window_whose_plan_was_pruned"),
    Remedy(
        "steps/journal.py",
        "missing or of another size",
        f"{_HERE}/test_generations.py::test_published_files_that_are_gone",
    ),
    Remedy(
        "ledger/upkeep/requests.py", "finished by another process", f"{_HERE}/test_newer.py::test_what_came_in_between"
    ),
    Remedy("ledger/upkeep/requests.py", "no longer published", f"{_HERE}/test_newer.py::test_what_came_in_between"),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "files must be",
        f"{_HERE}/test_plans.py::test_a_withdrawal_to_a_word_that_is_none",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "holds no plan to give up",
        f"{_HERE}/test_generations.py::test_a_window_that_was_not_planned",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "let them stay excluded",
        f"{_HERE}/test_generations.py::test_files_of_a_pruned_window_do_not_go_back",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "repeat the command or clear the run that began it",
        f"{_HERE}/test_generations.py::test_a_half_published_rebuild_is_not_given_up",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "undo it with",
        f"{_HERE}/test_windows.py::test_a_half_published_window_is_undone_instead",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "nothing of window",
        f"{_HERE}/test_windows.py::test_an_unpublished_window_is_abandoned_instead",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "is publishing generation",
        f"{_HERE}/test_windows.py::test_an_undoing_waits_for_the_publisher",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "without a record",
        f"{_HERE}/test_windows.py::test_a_window_that_was_withdrawn_by_hand",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "gone back to pending",
        f"{_HERE}/test_windows.py::test_files_that_have_gone_back_are_in_another_window",
    ),
    Remedy(
        "ledger/upkeep/withdrawing.py",
        "changed by another process",
        f"{_HERE}/test_windows.py::test_a_withdrawal_that_somebody_else_changed",
    ),
]
