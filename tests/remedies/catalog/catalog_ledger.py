"""Where the remedies of the ledger are carried out."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Explained, Remedy

_HERE = "tests/remedies"
_FENCED = "it advises to stop, which the task does by ending; what took its place continues, in the tests of fencing"
_STEPS = (
    "this package calls the steps in this order only, so no user meets it; tests/ledger/windows/test_publishing.py does"
)
_RACE = "plans that meet it choose again by themselves up to four times (tests/crash/test_two_at_once.py)"
_LOCKED = "the only code that could cause it waits for the same locks; it guards against a mistake in this package"

CATALOG: list[Entry] = [
    Remedy(
        "ledger/address.py",
        "second @",
        f"{_HERE}/test_ledgers.py::test_an_address_of_a_server_as_the_message_writes_it",
    ),
    Remedy(
        "ledger/address.py", "cannot be parsed", f"{_HERE}/test_ledgers.py::test_an_address_as_the_message_writes_it"
    ),
    Remedy(
        "ledger/address.py", "several hosts", f"{_HERE}/test_ledgers.py::test_several_hosts_as_the_message_writes_them"
    ),
    Remedy("ledger/address.py", "write a number", f"{_HERE}/test_ledgers.py::test_when_the_driver_prepares_statements"),
    Remedy(
        "ledger/address.py", "cannot be kept in", f"{_HERE}/test_ledgers.py::test_an_address_as_the_message_writes_it"
    ),
    Remedy("ledger/address.py", "four slashes", f"{_HERE}/test_ledgers.py::test_an_address_as_the_message_writes_it"),
    Remedy(
        "ledger/address.py",
        "lock out those who may write",
        "tests/ledger/test_trouble.py::test_a_reader_does_not_lock_out_the_writers",
    ),
    Remedy("ledger/address.py", "in memory", f"{_HERE}/test_ledgers.py::test_an_address_as_the_message_writes_it"),
    Remedy(
        "ledger/files/cleaned.py",
        "",
        f"{_HERE}/test_cleaned.py::test_archived_files_are_brought_back_where_the_ledger_refuses",
    ),
    Remedy("ledger/upkeep/copying.py", "", f"{_HERE}/test_ledgers.py::test_a_ledger_is_copied_to_where_none_is_in_use"),
    Remedy(
        "ledger/windows/correcting.py",
        "begun or published in between",
        "tests/pipeline/upkeep/test_corrected_refused.py::test_two_at_once",
    ),
    Explained(
        "ledger/windows/correcting.py",
        "in generation {}; repeat this",
        "groups of a finished generation are done for good",
    ),
    Remedy("ledger/files/discovery.py", "was modified", f"{_HERE}/test_plans.py::test_a_modified_file"),
    Remedy("ledger/files/admission.py", "1677", f"{_HERE}/test_plans.py::test_a_time_that_the_ledger_cannot_hold"),
    Remedy(
        "ledger/windows/progress.py", "", f"{_HERE}/test_generations.py::test_other_options_while_an_owner_is_at_work"
    ),
    Remedy("ledger/files/discovery.py", "has no time", f"{_HERE}/test_plans.py::test_a_file_without_a_time"),
    Remedy("ledger/files/discovery.py", "not UTF-8", f"{_HERE}/test_plans.py::test_a_name_that_is_no_text"),
    Remedy(
        "ledger/windows/exclusions.py",
        "so it holds no files",
        f"{_HERE}/test_generations.py::test_a_window_that_was_not_planned",
    ),
    Remedy(
        "ledger/windows/exclusions.py",
        "this file's records",
        f"{_HERE}/test_windows.py::test_a_file_of_a_published_window_goes_by_a_rebuild",
    ),
    Remedy(
        "ledger/windows/exclusions.py",
        "half published",
        f"{_HERE}/test_generations.py::test_a_file_of_a_half_published_window",
    ),
    Explained(
        "ledger/windows/exclusions.py",
        "look at it with",
        "the newest generation of an open window is unfinished, or one is published",
    ),
    Remedy(
        "ledger/windows/exclusions.py",
        "a part of this file",
        f"{_HERE}/test_windows.py::test_a_part_of_a_published_window_goes_with_the_window",
    ),
    Remedy(
        "ledger/windows/exclusions.py",
        "read a newer version",
        "tests/pipeline/upkeep/test_rebuilt_without.py::test_a_group_that_was_carried_over_is_read_again_without",
    ),
    Remedy(
        "ledger/windows/exclusions.py",
        "holds no file ",
        f"{_HERE}/test_windows.py::test_what_a_window_holds_is_shown",
    ),
    Remedy("ledger/feeds.py", "knows no feed", f"{_HERE}/test_plans.py::test_a_feed_that_the_ledger_does_not_know"),
    Remedy(
        "ledger/windows/generations.py",
        "is abandoned",
        f"{_HERE}/test_windows.py::test_an_abandoned_window_reads_nothing_more",
    ),
    Remedy(
        "ledger/windows/generations.py",
        "was pruned on",
        f"{_HERE}/test_generations.py::test_a_window_whose_plan_was_pruned",
    ),
    Remedy(
        "ledger/windows/generations.py",
        "is being published",
        f"{_HERE}/test_generations.py::test_a_generation_that_is_being_published_comes_first",
    ),
    Remedy(
        "ledger/windows/generations.py",
        "half published",
        f"{_HERE}/test_generations.py::test_a_half_published_rebuild_is_not_given_up",
    ),
    Remedy(
        "ledger/windows/generations.py",
        "has no generation {}",
        f"{_HERE}/test_windows.py::test_a_generation_that_is_not_there_is_looked_up",
    ),
    Remedy(
        "ledger/windows/generations.py",
        "plan it first",
        f"{_HERE}/test_generations.py::test_a_window_that_was_not_planned",
    ),
    Remedy(
        "ledger/windows/groups.py",
        "no longer holds it",
        "tests/pipeline/read/test_bad_state.py::test_group_that_is_taken_over_while_it_is_read",
    ),
    Explained("ledger/windows/groups.py", "or is complete", _LOCKED),
    Remedy(
        "ledger/windows/groups.py", "there is no {}", f"{_HERE}/test_generations.py::test_a_group_that_does_not_exist"
    ),
    Remedy(
        "ledger/windows/groups.py", "has taken its place", f"{_HERE}/test_generations.py::test_an_overtaken_generation"
    ),
    Explained(
        "ledger/windows/groups.py",
        "its generation is being published",
        "all groups are done then, which is reported first, and stay so",
    ),
    Remedy(
        "ledger/windows/groups.py",
        "its generation is {}",
        f"{_HERE}/test_generations.py::test_a_published_group_is_read_by_the_run",
    ),
    Remedy(
        "ledger/windows/groups.py",
        "cleared since this task began",
        f"{_HERE}/test_generations.py::test_a_task_of_before_a_clear",
    ),
    Remedy("ledger/windows/groups.py", "is running it", f"{_HERE}/test_generations.py::test_an_owner_that_lives"),
    Explained("ledger/windows/journal.py", "", _STEPS),
    Explained("ledger/windows/parts.py", "list and plan again", _RACE),
    Remedy(
        "ledger/windows/parts.py",
        "let that one be published first",
        f"{_HERE}/test_parts.py::test_the_window_of_the_part_before_comes_first",
    ),
    Explained("ledger/windows/parts.py", "are planned, but of {} proven", _LOCKED),
    Explained("ledger/windows/parts.py", "the part that the ledger holds", _LOCKED),
    Explained(
        "ledger/windows/parts.py",
        "let it be published first",
        "a part is read only once the part before is published, which nothing takes back",
    ),
    Remedy(
        "ledger/windows/parts.py",
        "with the record format of that window",
        "tests/pipeline/parts/test_parts.py::test_the_end_of_a_part_is_that_of_what_is_published",
    ),
    Remedy(
        "ledger/windows/parts.py",
        "undo that window first",
        f"{_HERE}/test_parts.py::test_a_part_that_would_end_elsewhere",
    ),
    Remedy(
        "ledger/windows/parts.py",
        "give that window up first",
        f"{_HERE}/test_windows.py::test_parts_are_given_up_from_the_last_one_on",
    ),
    Explained("ledger/windows/planning.py", "has taken the plan over; plan again", _FENCED),
    Explained("ledger/windows/planning.py", "are no longer pending", _RACE),
    Remedy(
        "ledger/windows/planning.py",
        "since {}, planned by {}",
        f"{_HERE}/test_plans.py::test_a_key_that_another_planner_took",
    ),
    Remedy("ledger/windows/planning.py", "wait, then plan again", f"{_HERE}/test_plans.py::test_a_planner_that_lives"),
    Remedy(
        "ledger/windows/planning.py",
        "plan again when it is done",
        "tests/pipeline/plan/test_planners.py::test_a_planner_waits_for_the_one_before",
    ),
    Explained(
        "ledger/windows/planning.py", "whole files were taken", "the plan counts the files that it has taken itself"
    ),
    Remedy("proof/receipts.py", "fails its proof", f"{_HERE}/test_functions.py::test_a_staged_file_that_was_harmed"),
    Remedy(
        "ledger/windows/publishing.py",
        "has taken its place",
        f"{_HERE}/test_generations.py::test_an_overtaken_generation",
    ),
    Explained("ledger/windows/publishing.py", "not only verified", _STEPS),
    Remedy(
        "ledger/windows/publishing.py",
        "no longer publishes it",
        f"{_HERE}/test_generations.py::test_a_publisher_that_lost_its_window",
    ),
    Explained("ledger/windows/publishing.py", "claim it again", _STEPS),
    Remedy(
        "ledger/windows/publishing.py", "is publishing it", "tests/pipeline/read/test_bad_state.py::test_two_publishers"
    ),
    Remedy(
        "ledger/windows/publishing.py",
        "are not done; clear their read tasks",
        "tests/airflow/runs/test_clearing.py::test_clearing",
    ),
    Explained("ledger/windows/publishing.py", "steps of its journal are not done", _STEPS),
    Remedy(
        "ledger/windows/queries.py",
        "has no window",
        f"{_HERE}/test_windows.py::test_an_unknown_window_is_found_in_the_list",
    ),
    Remedy(
        "ledger/windows/queries.py",
        "several feeds",
        f"{_HERE}/test_windows.py::test_a_key_of_two_feeds_needs_the_feed_or_the_id",
    ),
    Remedy(
        "ledger/windows/replacing.py",
        "each version is read only once",
        f"{_HERE}/test_newer.py::test_a_version_that_another_window_took",
    ),
    Remedy("ledger/windows/replacing.py", "repeat the command", f"{_HERE}/test_newer.py::test_what_came_in_between"),
    Explained(
        "ledger/windows/selection.py", "block_size must be", "options refuse such a size before (options/plan.py)"
    ),
    Explained(
        "ledger/windows/selection.py",
        "needs a run with a data interval",
        "runs without one are refused before (operators/run_identity.py)",
    ),
    Remedy(
        "ledger/store.py",
        "blockread db upgrade --state URL` with its URL",
        f"{_HERE}/test_ledgers.py::test_a_ledger_is_made_or_brought_up_to_date",
    ),
    Remedy("ledger/store.py", "restore its file", f"{_HERE}/test_ledgers.py::test_a_ledger_whose_file_is_gone"),
    Remedy(
        "ledger/store.py",
        "newer than this package",
        f"{_HERE}/test_ledgers.py::test_a_newer_ledger_needs_a_newer_package",
    ),
    Remedy(
        "ledger/store.py", "folder cannot be created", f"{_HERE}/test_ledgers.py::test_a_folder_that_cannot_be_made"
    ),
    Remedy(
        "ledger/store.py",
        "network file system",
        f"{_HERE}/test_ledgers.py::test_a_ledger_on_a_network_file_system_moves",
    ),
    Remedy("ledger/store.py", "needs the module", f"{_HERE}/test_ledgers.py::test_a_driver_that_is_missing"),
    Remedy(
        "ledger/store.py",
        "changed the same rows",
        f"{_HERE}/test_ledgers.py::test_another_process_changed_the_same_rows",
    ),
    Remedy(
        "ledger/store.py",
        "cannot be used: {}; {}",
        f"{_HERE}/test_databases.py::test_every_complaint_is_caused_somewhere",
    ),
]
