"""Where the remedies of the pipeline's steps, of Airflow and of commands are carried out; the ledger's are beside."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Explained, Remedy

_HERE, _AIRFLOW = "tests/remedies", "tests/airflow"
_CLEANED = f"{_HERE}/test_cleaned.py"
_SEALED = "only who can write to the work area causes it, and what it asks is to find that out"
_EXCLUDED = "tests/remedies/data/test_records.py::test_a_run_goes_on_without_a_file_that_is_excluded"
_NAMES = "it names the feed and window in front of another error, whose remedy has an entry of its own"

_TEXT = "tests/sinks/test_text.py"
_BLOCKS = "tests/pipeline/functions/test_files_of_blocks.py"
_TEXTS = "tests/pipeline/functions/test_function_text.py"
_CODE = "tests/remedies/test_functions.py"
_FRAMES, _DEATHS = "tests/pipeline/frames/test_remedies.py", "tests/pipeline/read/test_deaths.py"
_SESSION = "spark/engines/session.py"
_ANSWERS = "tests/spark/engines/test_answers.py"
_REFUSED, _ON_SERVER = "tests/spark/engines/test_refusals.py", "tests/spark/engines/test_windows.py"

CATALOG: list[Entry] = [
    Remedy(
        "steps/model.py",
        "runs no code that an option names",
        "tests/pages/actions/test_custom_sinks.py::test_no_page_and_no_action_loads_a_sink_that_the_ledger_names",
    ),
    Explained("exchange/failures.py", "was not written by", _SEALED),
    Remedy("exchange/files.py", "clear the group's task", "tests/pipeline/read/test_bad_state.py::test_corrupt_result"),
    Remedy("exchange/files.py", "restore the file", f"{_HERE}/test_plans.py::test_a_manifest_that_was_lost"),
    Remedy("exchange/manifest.py", "cannot be read", f"{_HERE}/test_plans.py::test_a_manifest_that_was_lost"),
    Remedy(
        "exchange/files.py",
        "clear the task, which writes it again",
        f"{_HERE}/test_plans.py::test_a_specification_that_was_replaced",
    ),
    Remedy("exchange/receipts.py", "", "tests/pipeline/read/test_bad_state.py::test_corrupt_result"),
    Remedy(
        "exchange/results.py",
        "was not written by the application",
        "tests/pipeline/read/test_bad_state.py::test_foreign_result",
    ),
    Explained("exchange/results.py", "use one version", "two versions of this package cannot be installed in one test"),
    Remedy("exchange/states.py", "", "tests/pipeline/read/test_states.py::test_lost_states_of_files_that_span_groups"),
    Remedy("sinks/conform.py", "at every call", f"{_CODE}::test_columns_that_are_declared"),
    Explained(
        "sinks/names.py", "is not a data file", "results name what this package's writer has named, and are sealed"
    ),
    Remedy("sinks/staging.py", "cast it", f"{_CODE}::test_a_function_that_is_corrected"),
    Remedy("sinks/staging.py", "cannot be written", f"{_CODE}::test_an_output_that_cannot_be_written"),
    Remedy(
        "sinks/directory.py",
        "is not published",
        "tests/pipeline/commit/test_half_published.py::test_staged_file_is_lost",
    ),
    Remedy(
        "sinks/directory.py",
        "the output folder",
        "tests/pipeline/commit/test_half_published.py::test_output_folder_is_removed",
    ),
    Remedy(
        "sinks/parquet.py",
        "clear the group that wrote it",
        f"{_CODE}::test_a_staged_file_that_was_harmed",
    ),
    Remedy("sinks/text.py", "text sink {}: {}", f"{_TEXT}::test_columns_are_refused_before_anything_is_read"),
    Remedy("sinks/text.py", "clear the group", f"{_TEXT}::test_a_staged_file_that_was_harmed"),
    Remedy("sinks/text.py", "choose another one", f"{_TEXT}::test_a_record_with_the_terminator_inside_is_named"),
    Remedy("sinks/text.py", "return text from a function", f"{_TEXT}::test_a_null_is_named"),
    Remedy(
        "spark/driver.py",
        "different schemas",
        f"{_CODE}::test_tasks_and_groups_that_return_other_columns",
    ),
    Remedy("spark/tasks/partition.py", "windows exclude", _EXCLUDED),
    Explained("spark/tasks/partition.py", "{} on {} records", _NAMES),
    Explained("spark/tasks/partition.py", "the record at byte {} of {}: {}", _NAMES),
    Remedy(
        "spark/tasks/partition.py",
        "or set on_bad_record",
        f"{_CODE}::test_a_bad_record",
    ),
    Remedy(
        "spark/engines/in_process.py",
        "was cancelled",
        "tests/spark/engines/test_behaviour.py::test_a_run_that_is_cancelled",
    ),
    Remedy(
        "spark/engines/connect.py",
        "was cancelled",
        "tests/spark/engines/test_behaviour.py::test_a_run_that_is_cancelled",
    ),
    Remedy(
        "spark/engines/session.py",
        "needs pyspark-client",
        "tests/airflow/test_remedies.py::test_what_an_extra_installs",
    ),
    Remedy(_SESSION, "use a server of Spark 4.0", f"{_REFUSED}::test_a_server_that_is_older"),
    Remedy(_SESSION, "PySpark {} does not work with", f"{_REFUSED}::test_a_client_that_is_too_new"),
    Remedy(_SESSION, "is not the address", f"{_REFUSED}::test_an_address_that_is_none"),
    Remedy(_SESSION, "from a session", f"{_REFUSED}::test_a_configuration_of_the_server"),
    Remedy(_SESSION, "correct the path", f"{_REFUSED}::test_a_file_that_is_not_there"),
    Remedy(_SESSION, "runs Python", f"{_REFUSED}::test_another_python"),
    Remedy(_SESSION, "lacks {}", f"{_REFUSED}::test_a_package_that_is_missing"),
    Remedy(_SESSION, "a later attempt", f"{_ON_SERVER}::test_a_session_that_was_ended"),
    Remedy(_SESSION, "refuses this client", f"{_REFUSED}::test_a_token_that_is_wrong"),
    Remedy(
        "spark/engines/session.py",
        "no Spark Connect server answers",
        f"{_REFUSED}::test_a_server_that_is_not_there",
    ),
    Remedy("spark/engines/answers.py", "no task of this package", f"{_ANSWERS}::test_what_no_task_returns"),
    Remedy("spark/remote.py", "was stopped", f"{_ON_SERVER}::test_a_kill"),
    Remedy("spark/remote.py", "was lost", f"{_ON_SERVER}::test_a_server_that_is_lost"),
    *(
        Remedy(f"spark/{file}.py", "the Spark job failed", f"{_DEATHS}::test_python_worker_that_dies")
        for file in ("driver", "remote", "engines/reporting")
    ),
    Remedy("spark/remote.py", "did not end its session", f"{_ON_SERVER}::test_a_server_that_hangs"),
    Remedy("spark/frames/writing.py", "returns no column", f"{_BLOCKS}::test_rows_of_no_block_are_refused"),
    Remedy("spark/frames/writing.py", "a row has no block", f"{_BLOCKS}::test_rows_of_no_block_are_refused"),
    Remedy("spark/tasks/loading.py", "cannot be defined", f"{_TEXTS}::test_a_text_that_cannot_be_defined"),
    Explained("spark/tasks/loading.py", "is not the one that was planned", "Airflow's side hands over what it checked"),
    Remedy("spark/engines/in_process.py", "use an ArrowFunction", f"{_FRAMES}::test_without_spark"),
    Remedy("spark/frames/blaming.py", "correct it and clear", f"{_FRAMES}::test_a_function_that_is_corrected"),
    Remedy("spark/frames/calling.py", "stops Spark", f"{_FRAMES}::test_a_function_that_is_corrected"),
    Remedy("spark/frames/calling.py", "must return a DataFrame", f"{_FRAMES}::test_a_function_that_is_corrected"),
    Remedy("spark/frames/calling.py", "which no output holds", f"{_FRAMES}::test_a_function_that_is_corrected"),
    Remedy("spark/frames/calling.py", "declared schema", f"{_FRAMES}::test_a_schema_that_is_declared"),
    Remedy("spark/frames/records.py", "Spark finds {} records", f"{_FRAMES}::test_staged_files_that_were_harmed"),
    Remedy("spark/frames/records.py", "holds {} rows", f"{_FRAMES}::test_staged_files_that_were_harmed"),
    Remedy("spark/frames/types.py", "does not distinguish columns", f"{_FRAMES}::test_a_column_that_no_dataframe_has"),
    Remedy("spark/frames/types.py", "declare another type", f"{_FRAMES}::test_a_column_that_no_dataframe_has"),
    Explained("spark/frames/writing.py", "a row of {}: {}", _NAMES),
    Remedy("spark/tasks/user_function.py", "out of columns", f"{_CODE}::test_a_place_column_of_the_records"),
    Remedy("spark/tasks/user_function.py", "raised", f"{_CODE}::test_a_function_that_is_corrected"),
    Remedy("spark/tasks/user_function.py", "must return", f"{_CODE}::test_a_function_that_is_corrected"),
    Remedy("steps/plan/choosing.py", "status must be", f"{_HERE}/test_commands.py::test_a_status_of_files"),
    Remedy(
        "steps/plan/cleaned.py", "were cleaned from the source", f"{_CLEANED}::test_archived_files_are_brought_back"
    ),
    Remedy(
        "steps/plan/cleaned.py",
        "another file is there now",
        f"{_CLEANED}::test_another_file_in_the_place_of_an_archived_one",
    ),
    Remedy(
        "steps/plan/cleaned.py", "by hand and use", f"{_CLEANED}::test_a_store_that_makes_every_copy_another_version"
    ),
    Remedy(
        "steps/upkeep/cleaning.py",
        "that could not be",
        "tests/pipeline/upkeep/test_cleaning.py::test_files_that_the_store_denies",
    ),
    Remedy("steps/upkeep/cleaning_scope.py", "action must be", f"{_CLEANED}::test_values_that_a_task_may_give"),
    Remedy("steps/upkeep/cleaning_scope.py", "give both or neither", f"{_CLEANED}::test_options_that_belong_together"),
    Remedy("steps/upkeep/cleaning_scope.py", "must be 0 or more", f"{_CLEANED}::test_values_that_a_task_may_give"),
    Remedy(
        "steps/upkeep/cleaning_scope.py", "archive or delete instead", f"{_CLEANED}::test_tags_where_there_are_none"
    ),
    Remedy(
        "steps/upkeep/cleaning_scope.py",
        "choose a folder in that store",
        f"{_CLEANED}::test_an_archive_in_another_store",
    ),
    Remedy("steps/upkeep/cleaning_scope.py", "choose a folder beside", f"{_CLEANED}::test_an_archive_in_the_source"),
    Remedy(
        "steps/upkeep/cleaning_files.py", "is incomplete; if the original", f"{_CLEANED}::test_a_copy_that_is_not_whole"
    ),
    Remedy("steps/upkeep/cleaning_files.py", "taken by other content", f"{_CLEANED}::test_a_name_that_is_taken_twice"),
    Explained(
        "steps/commit/committing.py",
        "another attempt or manifest",
        "the ledger keeps each result's hash, which is reported first",
    ),
    Remedy(
        "steps/commit/committing.py",
        "verifying read",
        f"{_CODE}::test_a_verification_that_finds_something_else",
    ),
    Remedy(
        "steps/excluding.py",
        "continues after it",
        f"{_HERE}/test_windows.py::test_a_part_is_left_out_of_the_last_window_first",
    ),
    Remedy(
        "steps/excluding.py",
        "and holds no files",
        f"{_HERE}/test_windows.py::test_an_abandoned_window_reads_nothing_more",
    ),
    Remedy(
        "steps/excluding.py",
        "which no policy removes",
        f"{_HERE}/test_newer.py::test_no_policy_takes_away_what_is_published",
    ),
    Remedy("steps/read/inferring.py", "windows exclude", _EXCLUDED),
    Remedy(
        "steps/read/inferring.py",
        "cannot be inferred",
        f"{_CODE}::test_columns_that_cannot_be_inferred",
    ),
    Remedy(
        "steps/model.py",
        "the same ledger connection",
        f"{_HERE}/test_plans.py::test_a_step_that_reaches_another_ledger",
    ),
    Remedy("steps/separation.py", "in another store than", f"{_HERE}/test_plans.py::test_a_work_area_in_another_store"),
    Remedy("steps/separation.py", "is in the source", f"{_HERE}/test_plans.py::test_an_output_in_the_source"),
    Remedy("steps/separation.py", "has taken some of", f"{_HERE}/test_ledgers.py::test_files_of_another_feed"),
    Remedy("steps/separation.py", "lacks windows", f"{_HERE}/test_ledgers.py::test_a_ledger_from_an_old_backup"),
    Remedy(
        "steps/separation.py", "holds files that ledger", f"{_HERE}/test_plans.py::test_an_output_of_another_ledger"
    ),
    Remedy("steps/plan/planning.py", "key is blank", f"{_HERE}/test_plans.py::test_a_blank_key"),
    Remedy("steps/upkeep/pruning.py", "must be 0 or more", f"{_HERE}/test_commands.py::test_bounds_of_pruning"),
    Remedy(
        "steps/upkeep/sweeping.py",
        "some work areas are left",
        "tests/remedies/test_commands.py::test_a_work_area_that_cannot_be_cleared",
    ),
    Remedy(
        "steps/read/deferring.py",
        "clear the scan's task",
        "tests/pipeline/deferred/test_scanning.py::test_a_scan_that_fails",
    ),
    Remedy(
        "steps/read/waiting.py",
        "wait for the application was stopped",
        "tests/pipeline/deferred/test_fencing.py::test_a_wait_for_an_adopted_application_ends_at_a_kill",
    ),
    Remedy(
        "steps/read/groups.py",
        "is fenced; retry",
        "tests/pipeline/deferred/test_reading.py::test_a_cleared_task_does_not_wait_for_the_application_before",
    ),
    Remedy(
        "steps/read/deferring.py",
        "is fenced; retry",
        "tests/pipeline/deferred/test_scanning.py::test_each_try_to_scan_is_told_apart",
    ),
    Remedy("steps/read/checking.py", "result file", "tests/pipeline/read/test_bad_state.py::test_foreign_result"),
    Remedy("steps/read/checking.py", "set scope='group'", f"{_FRAMES}::test_a_window_in_several_groups"),
    Remedy("steps/upkeep/rebuilding.py", "name a window", f"{_HERE}/test_commands.py::test_windows_to_read_again"),
    Remedy("steps/upkeep/rebuilding.py", "Fix the", f"{_HERE}/test_commands.py::test_a_rebuild_that_fails_goes_on"),
    Remedy(
        "steps/plan/replacing.py", "parts of two versions", f"{_HERE}/test_newer.py::test_a_newer_version_of_a_part"
    ),
    Remedy("steps/plan/replacing.py", "too few", f"{_HERE}/test_newer.py::test_a_newer_version_that_is_too_small"),
    Remedy(
        "steps/plan/restoring.py",
        "cannot continue there",
        f"{_HERE}/test_parts.py::test_the_rest_of_a_file_that_a_format_cannot_enter",
    ),
    Remedy(
        "steps/plan/restoring.py", "was pruned on", f"{_HERE}/test_generations.py::test_a_window_whose_plan_was_pruned"
    ),
    Explained("steps/plan/taking.py", "report it with the sizes", "only a mistake in this package causes it"),
    Explained("steps/plan/taking.py", "another planner took", "plans that meet it choose again by themselves"),
    Remedy(
        "steps/watch/watching.py", "ledger noop", f"{_AIRFLOW}/test_task_remedies.py::test_a_watch_whose_ledger_forgets"
    ),
    Remedy(
        "steps/plan/restoring.py",
        "cannot be written again",
        "tests/pipeline/upkeep/test_corrected_refused.py::test_a_lost_plan_is_told",
    ),
    Remedy("steps/read/submitting.py", "in a DAG's file", f"{_CODE}::test_a_function_of_a_dag"),
    Remedy(
        "steps/read/submitting.py",
        "has changed since this generation was planned",
        f"{_TEXTS}::test_a_text_that_changed_since_the_plan_is_not_run",
    ),
    Remedy(
        "steps/read/submitting.py",
        "deploy mode cluster",
        f"{_TEXTS}::test_a_driver_that_no_private_file_reaches",
    ),
    Remedy(
        "steps/read/scanning.py",
        "to rebuild it",
        f"{_AIRFLOW}/runs/test_corrected_runs.py::test_a_read_of_what_is_published_is_skipped",
    ),
]
