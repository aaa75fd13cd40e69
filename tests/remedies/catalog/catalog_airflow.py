"""Where the remedies of Airflow's side and of the command line are carried out."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Explained, Remedy

_HERE, _AIRFLOW = "tests/remedies", "tests/airflow"
_DECORATED = f"{_AIRFLOW}/decorators/test_defining.py"
_EXCLUDED = "tests/remedies/data/test_records.py::test_a_run_goes_on_without_a_file_that_is_excluded"
_NAMES = "it names the feed and window in front of another error, whose remedy has an entry of its own"

_MEMBERS = "tests/merging/test_members.py"
_TWICE = "tests/cli/options/test_contradictions.py"
_REFUSED = "tests/cli/options/test_refusals.py"
_TASKS = f"{_AIRFLOW}/test_task_remedies.py"
_LOOKUPS = f"{_AIRFLOW}/connections/test_lookups.py"
_OWN = "tests/airflow/runs/test_own_windows.py"
CATALOG: list[Entry] = [
    Remedy("operators/base.py", "must be a", f"{_OWN}::test_what_is_no_option_is_refused_where_the_dag_is_parsed"),
    Explained(
        "triggers/new_files_events.py", "must not be templates", "a watcher without is in nearly every test of watchers"
    ),
    Explained("operators/prune_ledger.py", "windows to keep", "the tests of pruning in a DAG have such a number"),
    Explained("triggers/new_files_events.py", "feed must be", "nearly every test of watchers names it"),
    Explained("triggers/new_files_events.py", "listing must be", "nearly every test of watchers has such a number"),
    Explained(
        "sensors/new_files.py", "no new files within", "Airflow retries the task by itself, or files have to come"
    ),
    Remedy("hooks/connections.py", "could not look it up", f"{_LOOKUPS}::test_a_request_that_fails_is_tried_again"),
    Remedy(
        "hooks/connections.py",
        "could not read it",
        f"{_LOOKUPS}::test_a_connection_in_the_environment_that_is_no_json",
    ),
    Explained("sensors/new_files.py", "Correct group", "nearly every sensor of the tests names its pipeline"),
    Remedy("steps/plan/replaying.py", "has planned", f"{_OWN}::test_two_groups_of_a_run_do_not_share_a_window"),
    Remedy(
        "steps/plan/replaying.py",
        "was read by run",
        f"{_OWN}::test_a_run_does_not_move_the_output_of_another_dag",
    ),
    Remedy(
        "steps/plan/replaying.py",
        "is mapped has changed",
        f"{_OWN}::test_a_clear_after_the_list_of_a_mapped_task_has_changed",
    ),
    Remedy(
        "steps/plan/replaying.py",
        "was begun for",
        f"{_HERE}/test_plans.py::test_a_window_that_is_begun_stays_with_its_output",
    ),
    Remedy(
        "steps/plan/replaying.py",
        "reads files whole",
        f"{_HERE}/test_parts.py::test_a_part_is_not_read_again_by_a_format_of_whole_files",
    ),
    Remedy("cli/options/sourcing.py", "--name", f"{_HERE}/test_plans.py::test_several_sources_need_a_name"),
    Remedy("cli/schema.py", "leave out", "tests/cli/test_schema.py::test_a_schema_in_place_of_a_sample"),
    Remedy("cli/clean.py", "name the SOURCE", f"{_HERE}/test_cleaned.py::test_options_that_belong_together"),
    Remedy("cli/members.py", "`blockread members list`", f"{_MEMBERS}::test_a_member_is_written_as_it_was"),
    Remedy("cli/members.py", "names no place", f"{_MEMBERS}::test_no_name_leads_out_of_the_target"),
    Remedy("cli/members.py", "an empty folder", f"{_MEMBERS}::test_all_members_are_written_below_a_folder"),
    Remedy("cli/members.py", "shows their names", f"{_MEMBERS}::test_a_base_that_was_mistyped"),
    Remedy("cli/members.py", "both hold", f"{_MEMBERS}::test_two_versions_of_a_file_are_told_apart"),
    Remedy("cli/members.py", "more than once", f"{_MEMBERS}::test_records_of_one_name_are_read_as_records"),
    Remedy("cli/members.py", "cannot both be written", f"{_MEMBERS}::test_names_that_differ_and_have_one_place"),
    Remedy("cli/merge.py", "no meaning", "tests/cli/test_merge.py::test_policies_that_mean_nothing_are_refused"),
    Remedy("cli/records.py", "correct the path", f"{_HERE}/test_commands.py::test_a_file_that_is_not_there"),
    Remedy("cli/schema.py", "--pattern", "tests/cli/test_schema.py::test_a_source_without_records"),
    Remedy("cli/options/selecting.py", "--interval", f"{_HERE}/test_commands.py::test_options_of_a_plan"),
    Remedy("cli/options/pipeline.py", "exclude each other", f"{_HERE}/test_commands.py::test_functions_of_a_run"),
    Remedy("cli/options/shared.py", "--schema belongs to", f"{_HERE}/test_commands.py::test_options_of_a_plan"),
    Remedy(
        "cli/options/shared.py", "is not UTF-8", "tests/cli/test_bad_input.py::test_names_that_are_no_text_are_refused"
    ),
    Remedy("cli/options/spark.py", "--py-file", f"{_REFUSED}::test_a_module_that_is_not_there"),
    Remedy("cli/options/pipeline.py", "takes keys", f"{_REFUSED}::test_a_key_that_is_the_id_of_a_window"),
    Remedy("cli/options/shared.py", "has no home", f"{_REFUSED}::test_a_user_without_name_or_home"),
    Remedy("cli/ui.py", "another --port", f"{_REFUSED}::test_a_port_that_is_in_use"),
    Remedy("ledger/address.py", "parameter of another type", f"{_REFUSED}::test_parameters_of_a_ledger"),
    Remedy("ledger/store.py", "correct the parameters", f"{_REFUSED}::test_parameters_of_a_ledger"),
    Explained("cli/terminal/printing.py", "make room", "a disk with room is one that nearly every test writes to"),
    Remedy("cli/options/shared.py", "is blank", f"{_TWICE}::test_blank_text_is_refused"),
    Remedy("cli/options/shared.py", "given twice", f"{_TWICE}::test_contradictions_are_refused"),
    Remedy("cli/options/shared.py", "set the same", f"{_TWICE}::test_contradictions_are_refused"),
    Remedy("cli/clean.py", "--restore ignores", f"{_TWICE}::test_contradictions_are_refused"),
    Remedy("cli/options/shared.py", "KEY=VALUE", f"{_HERE}/test_commands.py::test_options_of_a_plan"),
    Remedy("cli/spark.py", "did not start", f"{_HERE}/test_commands.py::test_spark_that_does_not_start"),
    Remedy(
        "cli/spark.py",
        "has ended during the job",
        "tests/cli/test_run.py::test_a_run_continues_after_its_spark_has_ended",
    ),
    Explained("cli/spark.py", "stopped before it began", "Ctrl-C causes it within the moment in which Spark starts"),
    Remedy(
        "steps/upkeep/handing_over.py",
        "repeat the command or clear the run that began it",
        f"{_HERE}/test_generations.py::test_a_verification_of_what_was_begun",
    ),
    Remedy(
        "pages/actions/kinds.py",
        "name one by its path",
        "tests/pages/actions/test_excluding.py::test_a_file_is_named_as_people_know_it",
    ),
    Remedy("decorators/__init__.py", "by name", f"{_DECORATED}::test_what_refusals_ask_for"),
    Remedy("decorators/defining.py", "do not say what it takes", f"{_DECORATED}::test_what_refusals_ask_for"),
    Remedy("decorators/defining.py", "@blockread: {}", f"{_DECORATED}::test_what_refusals_ask_for"),
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
        "hooks/connect.py",
        "names no Spark Connect server",
        "tests/spark/engines/test_airflow.py::test_a_connection_without_a_host",
    ),
    Remedy(
        "operators/deferring.py",
        "which Airflow's database would hold",
        "tests/airflow/deferring/test_runs_on_cluster.py::test_secret_settings_are_not_deferred_on_spark_connect",
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
        "check that it exists",
        f"{_AIRFLOW}/watch/test_azure_queue.py::test_a_queue_of_azure_that_fails",
    ),
    Remedy(
        "hooks/queues/__init__.py", "by its import path", f"{_AIRFLOW}/test_store_remedies.py::test_a_class_of_a_queue"
    ),
    Remedy(
        "hooks/queues/sqs.py",
        "correct the connection",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_connection_that_opens_no_queue_of_amazon",
    ),
    Remedy("hooks/queues/sqs.py", "needs botocore", f"{_AIRFLOW}/test_remedies.py::test_what_an_extra_installs"),
    Remedy(
        "hooks/queues/sqs.py",
        "check that it exists",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_queue_that_is_not_there",
    ),
    Remedy(
        "hooks/spark.py",
        "deferrable=True needs",
        f"{_AIRFLOW}/deferring/test_runs_on_cluster.py::test_a_driver_in_the_task_is_not_deferred",
    ),
    Remedy("hooks/spark.py", "not on PATH", f"{_AIRFLOW}/test_remedies.py::test_spark_submit_that_is_missing"),
    Remedy("hooks/spark.py", "application failed", f"{_AIRFLOW}/test_remedies.py::test_an_application_that_failed"),
    Remedy("hooks/spark.py", "was stopped", f"{_AIRFLOW}/test_remedies.py::test_an_application_that_was_stopped"),
    Remedy("hooks/spark.py", "provider is missing", f"{_AIRFLOW}/test_remedies.py::test_what_an_extra_installs"),
    Remedy(
        "hooks/spark.py",
        "supports Python drivers only",
        f"{_AIRFLOW}/connections/test_command_lines.py::test_the_deploy_mode_is_always_said",
    ),
    Remedy(
        "hooks/tracked_submit.py",
        "put the output of",
        f"{_AIRFLOW}/connections/test_command_lines.py::test_a_keytab_is_written_in_base64",
    ),
    Remedy(
        "hooks/tracked_submit.py",
        "needs its Kubernetes provider",
        f"{_AIRFLOW}/connections/test_command_lines.py::test_a_kubernetes_master_needs_a_provider",
    ),
    Remedy(
        "spark/installed.py",
        "does not belong to pyspark",
        "tests/spark/test_installed.py::test_files_of_another_package_are_refused",
    ),
    Remedy(
        "spark/installed.py",
        "which brings Spark",
        "tests/spark/test_installed.py::test_a_python_without_spark_is_refused",
    ),
    Remedy("spark/installed.py", "install a JRE", f"{_HERE}/test_commands.py::test_java_that_is_missing"),
    Remedy("spark/installed.py", "has no bin/java", f"{_AIRFLOW}/test_remedies.py::test_a_task_without_java"),
    Remedy("hooks/spark.py", "deploy mode cluster", f"{_AIRFLOW}/test_remedies.py::test_a_driver_elsewhere"),
    Remedy(
        "hooks/spark.py",
        "there is no connection",
        f"{_AIRFLOW}/test_remedies.py::test_a_spark_connection_that_is_missing",
    ),
    Remedy("hooks/store_options.py", "", f"{_AIRFLOW}/test_store_remedies.py::test_a_connection_that_asks_for_more"),
    Remedy(
        "hooks/stores.py",
        "there is no connection",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_store_connection_that_is_missing",
    ),
    Remedy("hooks/stores.py", "contains no root", f"{_AIRFLOW}/test_store_remedies.py::test_a_connection_for_no_root"),
    Remedy(
        "hooks/stores.py",
        "has type",
        f"{_AIRFLOW}/test_store_remedies.py::test_a_type_that_names_no_store",
    ),
    Remedy("operators/clean_source.py", "give the source", f"{_TASKS}::test_options_of_tasks"),
    Remedy("operators/run_identity.py", "after rendering", f"{_TASKS}::test_a_key_that_renders_blank"),
    Remedy(
        "operators/run_identity.py",
        "has no data interval",
        f"{_TASKS}::test_a_run_without_an_interval",
    ),
    Remedy(
        "operators/publishing.py",
        "choose another place",
        f"{_AIRFLOW}/runs/test_output_assets.py::test_a_place_that_no_asset_can_have_is_refused_where_the_dag_is_parsed",
    ),
    Remedy(
        "operators/split_files.py",
        "airflow tasks test",
        f"{_AIRFLOW}/runs/test_plans.py::test_a_task_that_is_tested_alone_holds_no_files",
    ),
    Remedy(
        "task_group.py", "fail_fast", f"{_OWN}::test_a_group_in_a_dag_that_fails_fast_is_refused_where_it_is_parsed"
    ),
    Remedy("operators/base.py", "is None after rendering", f"{_TASKS}::test_a_template_without_a_value"),
    Remedy("operators/base.py", "cannot be rendered", f"{_TASKS}::test_a_template_that_cannot_be_rendered"),
    Remedy("operators/upstream.py", "window must be what", f"{_TASKS}::test_what_a_plan_hands_on"),
    Remedy(
        "operators/upstream.py",
        "group must be a number",
        f"{_TASKS}::test_what_a_plan_hands_on",
    ),
    Explained("task_group.py", "in a loop", "the tests make their groups in loops"),
    Remedy("operators/planning.py", "give both", f"{_TASKS}::test_options_of_tasks"),
    Remedy(
        "operators/upstream.py",
        "upstream gave no list",
        f"{_TASKS}::test_what_upstream_hands_over",
    ),
    Remedy(
        "operators/upstream.py",
        "must be a list of paths",
        f"{_TASKS}::test_what_upstream_hands_over",
    ),
    Remedy(
        "operators/timetables.py",
        "",
        f"{_AIRFLOW}/runs/test_interval_schedules.py::test_a_schedule_without_intervals_is_an_import_error",
    ),
    Remedy("operators/upstream.py", "names no paths", f"{_TASKS}::test_events_without_paths"),
    Remedy(
        "sensors/new_files.py",
        "give group",
        f"{_TASKS}::test_a_sensor_that_knows_no_feed",
    ),
    Remedy(
        "triggers/helpers.py",
        "cannot start a helper process",
        f"{_AIRFLOW}/deferring/test_helpers.py::test_a_helper_that_cannot_start_or_dies_in_its_answer",
    ),
    Remedy("triggers/helpers.py", "lack of memory", f"{_TASKS}::test_a_helper_that_ended"),
    Remedy(
        "triggers/helpers.py",
        "did not answer in",
        f"{_AIRFLOW}/deferring/test_helpers.py::test_a_helper_that_hangs_holds_up_its_lane_for_a_time_only",
    ),
]
