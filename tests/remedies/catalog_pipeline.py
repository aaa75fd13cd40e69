"""Where the remedies of the pipeline's steps, of Airflow and of commands are carried out; the ledger's are beside."""

from __future__ import annotations

from tests.remedies.catalog import Entry, Explained, Remedy

_HERE, _AIRFLOW = "tests/remedies", "tests/airflow"
_SEALED = "only who can write to the work area causes it, and what it asks is to find that out"
_EXCLUDED = "tests/remedies/data/test_records.py::test_a_run_goes_on_without_a_file_that_is_excluded"
_NAMES = "it names the feed and window in front of another error, whose remedy has an entry of its own"

CATALOG: list[Entry] = [
    Remedy("cli/clean.py", "name the SOURCE", f"{_HERE}/test_cleaned.py::test_options_that_belong_together"),
    Remedy("cli/records.py", "correct the path", f"{_HERE}/test_commands.py::test_a_file_that_is_not_there"),
    Remedy("cli/selecting.py", "--interval", f"{_HERE}/test_commands.py::test_options_of_a_plan"),
    Remedy("cli/shared.py", "--schema belongs to", f"{_HERE}/test_commands.py::test_options_of_a_plan"),
    Remedy("cli/shared.py", "KEY=VALUE", f"{_HERE}/test_commands.py::test_options_of_a_plan"),
    Remedy("cli/spark.py", "did not start", f"{_HERE}/test_commands.py::test_spark_that_does_not_start"),
    Explained("cli/spark.py", "stopped before it began", "Ctrl-C causes it within the moment in which Spark starts"),
    Remedy("cli/spark.py", "needs Java", f"{_HERE}/test_commands.py::test_java_that_is_missing"),
    Remedy(
        "cli/windows.py",
        "repeat what began it",
        f"{_HERE}/test_generations.py::test_a_verification_of_what_was_begun",
    ),
    Explained("exchange/failures.py", "was not written by", _SEALED),
    Remedy("exchange/files.py", "clear the group's task", "tests/pipeline/test_bad_state.py::test_corrupt_result"),
    Remedy("exchange/files.py", "or put it back", f"{_HERE}/test_plans.py::test_a_manifest_that_was_lost"),
    Remedy("exchange/manifest.py", "cannot be read", f"{_HERE}/test_plans.py::test_a_manifest_that_was_lost"),
    Remedy(
        "exchange/files.py",
        "clear the task, which writes it again",
        f"{_HERE}/test_plans.py::test_a_specification_that_was_replaced",
    ),
    Remedy("exchange/receipts.py", "", "tests/pipeline/test_bad_state.py::test_corrupt_result"),
    Remedy(
        "exchange/results.py", "is not what the application", "tests/pipeline/test_bad_state.py::test_foreign_result"
    ),
    Explained("exchange/results.py", "use one version", "two versions of this package cannot be installed in one test"),
    Remedy("exchange/states.py", "", "tests/pipeline/test_states.py::test_lost_states_of_files_that_span_groups"),
    Remedy("hooks/assumed_role.py", "needs botocore", f"{_AIRFLOW}/test_remedies.py::test_what_an_extra_installs"),
    Explained("hooks/assumed_role.py", ": {}; try again", "only a service that is overloaded causes it"),
    Remedy(
        "hooks/assumed_role.py",
        "let the role trust",
        "tests/stores/test_connections.py::test_an_aws_connection_that_assumes_a_role",
    ),
    Remedy(
        "hooks/assumed_role.py",
        "name the service's address",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_role_that_is_not_assumed",
    ),
    Remedy(
        "hooks/assumed_role.py",
        "correct the connection",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_role_that_is_not_assumed",
    ),
    Remedy(
        "hooks/assumed_role.py",
        "assume_role_method",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_role_that_is_assumed_in_another_way",
    ),
    Remedy(
        "hooks/ledger.py",
        "there is no connection",
        f"{_AIRFLOW}/test_remedies.py::test_a_ledger_connection_that_is_missing",
    ),
    Remedy(
        "hooks/ledger.py", "may run on other hosts", f"{_AIRFLOW}/test_remedies.py::test_an_executor_on_other_hosts"
    ),
    Remedy(
        "hooks/ledger.py", "needs a host", f"{_AIRFLOW}/test_remedies.py::test_a_ledger_connection_without_a_database"
    ),
    Remedy("hooks/queues/azure.py", "needs azure", f"{_AIRFLOW}/test_remedies.py::test_what_an_extra_installs"),
    Remedy(
        "hooks/queues/azure.py",
        "cannot be opened",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_queue_of_azure_that_cannot_be_opened",
    ),
    Remedy(
        "hooks/queues/azure.py",
        "see that it exists",
        f"{_AIRFLOW}/test_azure_queue.py::test_a_queue_of_azure_that_fails",
    ),
    Remedy(
        "hooks/queues/azure.py",
        "has type",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_type_that_opens_no_queue_of_azure",
    ),
    Remedy(
        "hooks/queues/opening.py", "by its import path", f"{_AIRFLOW}/test_store_remedies.py::test_a_class_of_a_queue"
    ),
    Remedy("hooks/queues/sqs.py", "needs botocore", f"{_AIRFLOW}/test_remedies.py::test_what_an_extra_installs"),
    Remedy(
        "hooks/queues/sqs.py",
        "see that it exists",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_queue_that_is_not_there",
    ),
    Remedy("hooks/spark.py", "not on PATH", f"{_AIRFLOW}/test_remedies.py::test_spark_submit_that_is_missing"),
    Remedy("hooks/spark.py", "application failed", f"{_AIRFLOW}/test_remedies.py::test_an_application_that_failed"),
    Remedy("hooks/spark.py", "was stopped", f"{_AIRFLOW}/test_remedies.py::test_an_application_that_was_stopped"),
    Remedy("hooks/spark.py", "provider is missing", f"{_AIRFLOW}/test_remedies.py::test_what_an_extra_installs"),
    Remedy("hooks/spark.py", "deploy mode cluster", f"{_AIRFLOW}/test_remedies.py::test_a_driver_elsewhere"),
    Remedy(
        "hooks/spark.py",
        "there is no connection",
        f"{_AIRFLOW}/test_remedies.py::test_a_spark_connection_that_is_missing",
    ),
    Explained("hooks/spark.py", "install it again", "a test cannot install this package again while it runs from it"),
    Remedy("hooks/store_options.py", "", f"{_AIRFLOW}/test_store_remedies.py::test_a_connection_that_asks_for_more"),
    Remedy(
        "hooks/stores.py",
        "there is no connection",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_store_connection_that_is_missing",
    ),
    Remedy("hooks/stores.py", "holds no root", f"{_AIRFLOW}/test_store_remedies.py::test_a_connection_for_no_root"),
    Remedy("hooks/stores.py", "names no store", f"{_AIRFLOW}/test_store_remedies.py::test_a_type_that_names_no_store"),
    Remedy("operators/clean_source.py", "name the source", f"{_AIRFLOW}/test_task_remedies.py::test_options_of_tasks"),
    Remedy(
        "operators/run_identity.py",
        "blank after rendering",
        f"{_AIRFLOW}/test_task_remedies.py::test_a_key_that_renders_blank",
    ),
    Remedy(
        "operators/run_identity.py",
        "has no data interval",
        f"{_AIRFLOW}/test_task_remedies.py::test_a_run_without_an_interval",
    ),
    Remedy("operators/split_files.py", "give both", f"{_AIRFLOW}/test_task_remedies.py::test_options_of_tasks"),
    Remedy(
        "operators/upstream.py",
        "upstream gave no list",
        f"{_AIRFLOW}/test_task_remedies.py::test_what_upstream_hands_over",
    ),
    Remedy(
        "operators/upstream.py",
        "must be a list of paths",
        f"{_AIRFLOW}/test_task_remedies.py::test_what_upstream_hands_over",
    ),
    Remedy(
        "operators/timetables.py",
        "",
        f"{_AIRFLOW}/test_interval_schedules.py::test_a_schedule_without_intervals_is_an_import_error",
    ),
    Remedy("operators/upstream.py", "names no paths", f"{_AIRFLOW}/test_task_remedies.py::test_events_without_paths"),
    Remedy(
        "sensors/new_files.py",
        "whose files are new",
        f"{_AIRFLOW}/test_task_remedies.py::test_a_sensor_that_knows_no_feed",
    ),
    Remedy("sinks/conform.py", "distinct columns", f"{_HERE}/test_functions.py::test_a_function_that_is_corrected"),
    Remedy("sinks/conform.py", "at every call", f"{_HERE}/test_functions.py::test_columns_that_are_declared"),
    Explained(
        "sinks/names.py", "is not a data file", "results name what this package's writer has named, and are sealed"
    ),
    Remedy("sinks/parquet.py", "cast it", f"{_HERE}/test_functions.py::test_a_function_that_is_corrected"),
    Remedy(
        "sinks/parquet.py", "cannot be written", f"{_HERE}/test_functions.py::test_an_output_that_cannot_be_written"
    ),
    Remedy("sinks/publish.py", "is not published", "tests/pipeline/test_half_published.py::test_staged_file_is_lost"),
    Remedy(
        "sinks/publish.py",
        "the output folder",
        "tests/pipeline/test_half_published.py::test_output_folder_is_removed",
    ),
    Remedy(
        "sinks/publish.py",
        "clear the group that wrote it",
        f"{_HERE}/test_functions.py::test_a_staged_file_that_was_harmed",
    ),
    Remedy(
        "spark/job.py",
        "different schemas",
        f"{_HERE}/test_functions.py::test_tasks_and_groups_that_return_other_columns",
    ),
    Remedy("spark/partition.py", "windows exclude", _EXCLUDED),
    Explained("spark/partition.py", "function {} on {} records", _NAMES),
    Remedy("spark/partition.py", "or set on_bad_record", f"{_HERE}/test_functions.py::test_a_bad_record"),
    Remedy("spark/reporting.py", "the Spark job failed", "tests/pipeline/test_deaths.py::test_python_worker_that_dies"),
    Remedy("spark/user_function.py", "raised", f"{_HERE}/test_functions.py::test_a_function_that_is_corrected"),
    Remedy("spark/user_function.py", "must return", f"{_HERE}/test_functions.py::test_a_function_that_is_corrected"),
    Remedy("steps/choosing.py", "status must be", f"{_HERE}/test_commands.py::test_a_status_of_files"),
    Remedy(
        "steps/cleaned.py",
        "were cleaned from the source",
        f"{_HERE}/test_cleaned.py::test_archived_files_are_brought_back",
    ),
    Remedy(
        "steps/cleaned.py",
        "another file is there now",
        f"{_HERE}/test_cleaned.py::test_another_file_in_the_place_of_an_archived_one",
    ),
    Remedy(
        "steps/cleaned.py",
        "by hand and use",
        f"{_HERE}/test_cleaned.py::test_a_store_that_makes_every_copy_another_version",
    ),
    Remedy("steps/cleaning.py", "action must be", f"{_HERE}/test_cleaned.py::test_values_that_a_task_may_give"),
    Remedy("steps/cleaning.py", "give both or neither", f"{_HERE}/test_cleaned.py::test_options_that_belong_together"),
    Remedy("steps/cleaning.py", "must be 0 or more", f"{_HERE}/test_cleaned.py::test_values_that_a_task_may_give"),
    Remedy(
        "steps/cleaning.py", "archive or delete instead", f"{_HERE}/test_cleaned.py::test_tags_where_there_are_none"
    ),
    Remedy(
        "steps/cleaning.py",
        "choose a folder in that store",
        f"{_HERE}/test_cleaned.py::test_an_archive_in_another_store",
    ),
    Remedy("steps/cleaning.py", "choose a folder beside", f"{_HERE}/test_cleaned.py::test_an_archive_in_the_source"),
    Remedy("steps/cleaning_files.py", "is not whole there", f"{_HERE}/test_cleaned.py::test_a_copy_that_is_not_whole"),
    Remedy(
        "steps/cleaning_files.py",
        "taken by other content",
        f"{_HERE}/test_cleaned.py::test_a_name_that_is_taken_twice",
    ),
    Explained(
        "steps/committing.py", "another attempt or manifest", "the ledger keeps each result's hash, which is told first"
    ),
    Remedy(
        "steps/committing.py",
        "verifying read",
        f"{_HERE}/test_functions.py::test_a_verification_that_finds_something_else",
    ),
    Remedy(
        "steps/excluding.py",
        "goes on behind it",
        f"{_HERE}/test_windows.py::test_a_part_is_left_out_of_the_last_window_first",
    ),
    Remedy(
        "steps/excluding.py",
        "and holds no files",
        f"{_HERE}/test_windows.py::test_an_abandoned_window_reads_nothing_more",
    ),
    Remedy("steps/excluding.py", "holds no file {}", f"{_HERE}/test_windows.py::test_what_a_window_holds_is_shown"),
    Remedy(
        "steps/excluding.py",
        "which no policy takes away",
        f"{_HERE}/test_newer.py::test_no_policy_takes_away_what_is_published",
    ),
    Remedy("steps/inferring.py", "windows exclude", _EXCLUDED),
    Remedy(
        "steps/inferring.py", "cannot be inferred", f"{_HERE}/test_functions.py::test_columns_that_cannot_be_inferred"
    ),
    Remedy(
        "steps/model.py",
        "the same ledger connection",
        f"{_HERE}/test_plans.py::test_a_step_that_reaches_another_ledger",
    ),
    Remedy("steps/places.py", "is in the source", f"{_HERE}/test_plans.py::test_an_output_in_the_source"),
    Remedy("steps/places.py", "holds files that ledger", f"{_HERE}/test_plans.py::test_an_output_of_another_ledger"),
    Remedy("steps/planning.py", "key is blank", f"{_HERE}/test_plans.py::test_a_blank_key"),
    Remedy("steps/pruning.py", "must be 0 or more", f"{_HERE}/test_commands.py::test_bounds_of_pruning"),
    Remedy(
        "steps/pruning.py",
        "some work areas are left",
        "tests/remedies/test_commands.py::test_a_work_area_that_cannot_be_cleared",
    ),
    Remedy("steps/reading.py", "", "tests/pipeline/test_bad_state.py::test_foreign_result"),
    Remedy("steps/rebuilding.py", "name a window", f"{_HERE}/test_commands.py::test_windows_to_read_again"),
    Remedy("steps/rebuilding.py", "failed: {}", f"{_HERE}/test_commands.py::test_a_rebuild_that_fails_goes_on"),
    Remedy("steps/replacing.py", "parts of two versions", f"{_HERE}/test_newer.py::test_a_newer_version_of_a_part"),
    Remedy("steps/replacing.py", "too few", f"{_HERE}/test_newer.py::test_a_newer_version_that_is_too_small"),
    Remedy(
        "steps/restoring.py",
        "cannot go on there",
        f"{_HERE}/test_parts.py::test_the_rest_of_a_file_that_a_format_cannot_enter",
    ),
    Remedy("steps/restoring.py", "was pruned on", f"{_HERE}/test_generations.py::test_a_window_whose_plan_was_pruned"),
    Explained("steps/taking.py", "report it with the sizes", "only a mistake in this package causes it"),
    Explained("steps/taking.py", "another planner took", "plans that meet it choose again by themselves"),
    Remedy("steps/watching.py", "not noop", f"{_AIRFLOW}/test_task_remedies.py::test_a_watch_whose_ledger_forgets"),
    Remedy("triggers/helpers.py", "try again", f"{_AIRFLOW}/test_task_remedies.py::test_a_helper_that_ended"),
    Remedy(
        "steps/restoring.py",
        "cannot be written again",
        "tests/pipeline/test_corrected_refused.py::test_a_lost_plan_is_told",
    ),
    Remedy(
        "steps/scanning.py",
        "to rebuild it",
        f"{_AIRFLOW}/test_corrected_runs.py::test_a_read_of_what_is_published_is_skipped",
    ),
]
