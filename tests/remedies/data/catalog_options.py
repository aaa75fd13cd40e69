"""Where the remedies of blocks and options are carried out."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Explained, Remedy

OPTIONS = "tests/remedies/data/test_options.py"

_PATHS = "tests/pipeline/functions/test_path_columns.py"
_TRANSFORMS = "tests/sinks/test_transforms.py"
_ARRANGED = "tests/sinks/test_arranged.py"
_POSTGRES = "tests/sinks/tables/postgres/test_postgres_options.py"
_JSON_CSV = "tests/sinks/test_json_csv.py"
_DELTA = "tests/sinks/tables/delta/test_delta_options.py"
_ICEBERG = "tests/sinks/tables/test_iceberg_options.py"

OPTIONS_SIDE: list[Entry] = [
    Remedy(
        "options/text_sinks.py",
        "occurs in numbers",
        "tests/sinks/test_json_csv.py::test_a_delimiter_that_values_without_quotes_may_hold",
    ),
    Remedy(
        "options/source.py", "time_zone applies to", "tests/options/test_times.py::test_a_zone_that_is_none_is_refused"
    ),
    Remedy("options/parsing/times.py", "time_zone", "tests/options/test_times.py::test_a_zone_that_is_none_is_refused"),
    Explained("options/source.py", "pattern must list", "all tests but one leave it out, or list one"),
    Remedy(
        "options/checks.py",
        "is None after rendering",
        "tests/options/test_types.py::test_a_template_without_a_value_is_no_name",
    ),
    Remedy(
        "options/values.py",
        "let a task return all",
        "tests/airflow/runs/test_runs.py::test_tasks_return_the_options_of_a_group",
    ),
    Remedy(
        "options/values.py", "must list texts", "tests/options/test_types.py::test_a_path_in_a_list_is_taken_as_text"
    ),
    Remedy(
        "options/checks.py",
        "which the ledger cannot store",
        "tests/options/test_types.py::test_arguments_of_a_class_of_ones_own_are_json",
    ),
    Remedy(
        "options/checks.py",
        "where the DAG is parsed",
        "tests/airflow/test_task_remedies.py::test_what_is_true_or_false_is_no_template",
    ),
    Remedy("options/values.py", "must be {}, not", f"{_PATHS}::test_an_option_that_is_no_list"),
    Explained(
        "blocks/group.py", "at least 1, but are", "Splitting refuses such numbers before, and nobody else makes limits."
    ),
    Remedy(
        "blocks/split.py",
        "64 MiB suits most sources",
        f"{OPTIONS}::test_block_ranges_are_made_when_their_arguments_are_in_range",
    ),
    Remedy(
        "blocks/split.py",
        "must not be negative",
        f"{OPTIONS}::test_block_ranges_are_made_when_their_arguments_are_in_range",
    ),
    Remedy(
        "options/parsing/encodings.py",
        "unknown encoding",
        f"{OPTIONS}::test_every_encoding_that_a_message_offers_is_read",
    ),
    Remedy(
        "options/parsing/encodings.py",
        "is not supported: use",
        f"{OPTIONS}::test_every_encoding_that_a_message_offers_is_read",
    ),
    Remedy(
        "options/parsing/encodings.py",
        "choose another text or encoding",
        f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected",
    ),
    Remedy("options/formats.py", "must be a single", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/formats.py",
        "delimited: delimiter must hold",
        f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected",
    ),
    Remedy(
        "options/formats.py", "leave it out for newlines", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Remedy("options/formats.py", "must not be part of", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/formats.py", "must not be a newline", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/formats.py", "must not be the same byte", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Remedy("options/formats.py", "needs header=True", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/formats.py", "whole number of bytes", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/checks.py", "0 or above", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/formats.py", "must be a multiple", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/checks.py", "must be one of", f"{OPTIONS}::test_every_value_that_a_message_offers_is_taken"),
    Remedy("options/checks.py", "whole number above 0", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/plan.py", "must be at most max_readers", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Remedy("options/plan.py", "min_readers limits", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/plan.py", "target_minutes must be", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/read.py",
        "or a sink with columns",
        "tests/options/test_merging.py::test_a_sink_without_columns_is_refused",
    ),
    Remedy("options/read.py", "which are taken as", "tests/options/test_merging.py::test_no_merged_file_is_bad"),
    Remedy(
        "options/read.py",
        "that many files share",
        "tests/options/test_merging.py::test_partitions_of_one_file_are_refused",
    ),
    Remedy("options/sinks.py", "must name a directory", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/tables.py", "with its namespace", f"{_ICEBERG}::test_what_a_table_needs"),
    Remedy("options/tables.py", "set work_uri to a folder, because", f"{_ICEBERG}::test_what_a_table_needs"),
    Remedy("options/tables.py", "with its schema", f"{_POSTGRES}::test_what_a_table_needs"),
    Remedy("options/tables.py", "where files are staged", f"{_POSTGRES}::test_what_a_table_needs"),
    Remedy("options/tables.py", "declare partitions", f"{_POSTGRES}::test_what_a_table_needs"),
    Remedy(
        "options/text_sinks.py",
        "one ASCII character",
        "tests/sinks/test_json_csv.py::test_a_delimiter_that_csv_cannot_have",
    ),
    Remedy("options/sinks.py", "needs log=True", "tests/sinks/test_log.py::test_columns_without_a_log"),
    Remedy(
        "options/tables.py",
        "needs the column _window",
        "tests/sinks/tables/test_rewritten.py::test_it_needs_the_column",
    ),
    Remedy(
        "options/partitions.py", "name each once", "tests/sinks/test_partitions.py::test_a_column_that_is_named_twice"
    ),
    Remedy("options/partitions.py", "is not a transform", f"{_TRANSFORMS}::test_a_transform_that_is_written_wrongly"),
    Remedy("options/partitions.py", "keep the finer one", f"{_TRANSFORMS}::test_two_transforms_of_one_time"),
    Remedy("options/partitions.py", "only Iceberg tables support", f"{_TRANSFORMS}::test_transforms_are_icebergs"),
    Remedy("options/sinks.py", "which is an audit column", f"{_PATHS}::test_an_option_that_is_no_list"),
    Remedy("options/tables.py", "is for files that readers open", f"{_POSTGRES}::test_what_a_table_needs"),
    Remedy("options/parsing/texts.py", "must be name=value", f"{_ARRANGED}::test_from_a_command_line"),
    Remedy("options/tables.py", "leave it out of audit", f"{_POSTGRES}::test_what_a_table_needs"),
    Remedy("options/tables.py", "names code", f"{_ICEBERG}::test_code_is_no_option"),
    Remedy("options/tables.py", "gives columns other names", f"{_DELTA}::test_columns_of_other_names_in_files"),
    Remedy("options/tables.py", "must be text", f"{_ICEBERG}::test_a_property_that_is_no_text"),
    Remedy("options/tables.py", "holds a secret", f"{_ICEBERG}::test_secrets_are_no_options"),
    Remedy("options/text_sinks.py", "at least one byte", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/sinks.py", "choose a place beside it", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/checks.py",
        "'package.module:{}'",
        f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected",
    ),
    Remedy(
        "options/functions.py", "one query of the view", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Explained(
        "options/read.py", "one version of this package", "Only another version of this package writes such options."
    ),
    Remedy("options/read.py", "must be below 2 GiB", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/read.py", "heartbeat_s=", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/read.py", "environment names variables", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Remedy(
        "options/read.py",
        "both say where",
        "tests/options/test_spark_job.py::test_where_spark_runs_is_named_once_and_without_a_token",
    ),
    Remedy(
        "options/read.py",
        "master must be",
        "tests/options/test_spark_job.py::test_where_spark_runs_is_named_once_and_without_a_token",
    ),
    Remedy(
        "options/read.py",
        "must not contain a token",
        "tests/options/test_spark_job.py::test_where_spark_runs_is_named_once_and_without_a_token",
    ),
    Remedy(
        "options/read.py",
        "must be 'sc://",
        "tests/options/test_spark_job.py::test_where_spark_runs_is_named_once_and_without_a_token",
    ),
    Remedy(
        "options/parsing/sizes.py",
        "write bytes as",
        f"{OPTIONS}::test_texts_are_read_when_written_as_the_message_shows",
    ),
    Remedy(
        "options/parsing/sizes.py",
        "at least 1 byte",
        f"{OPTIONS}::test_texts_are_read_when_written_as_the_message_shows",
    ),
    Remedy("options/parsing/sizes.py", "a share of all", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/read.py", "fails the window", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/checks.py", "ends with a line end", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "at least one root", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "Leave identity out", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "recursive=False is", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "is larger than max_size", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "is not a marker", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/source.py", "must list names of hosts", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Remedy(
        "options/parsing/times.py", "is not a time", f"{OPTIONS}::test_texts_are_read_when_written_as_the_message_shows"
    ),
    Remedy(
        "options/parsing/times.py",
        "is not a duration",
        f"{OPTIONS}::test_texts_are_read_when_written_as_the_message_shows",
    ),
    Explained("options/parsing/times.py", "which a ledger supports", "nearly every test has times of such years"),
    Explained("options/parsing/times.py", "choose a shorter duration", "nearly every test has shorter ones"),
    Remedy(
        "options/parsing/times.py",
        "which is not supported",
        f"{OPTIONS}::test_a_time_pattern_is_read_when_written_as_the_message_shows",
    ),
    Remedy(
        "options/parsing/times.py",
        "must contain %Y",
        f"{OPTIONS}::test_a_time_pattern_is_read_when_written_as_the_message_shows",
    ),
    Remedy(
        "options/upstream.py", "uri must name the file", f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Explained(
        "options/values.py",
        "unknown kind of option",
        "Only options that another version of this package wrote are of an unknown kind.",
    ),
    Remedy(
        "options/values.py", "has no option", f"{OPTIONS}::test_an_option_of_the_command_line_is_taken_when_corrected"
    ),
    Remedy(
        "options/parsing/texts.py",
        "true or false",
        f"{OPTIONS}::test_an_option_of_the_command_line_is_taken_when_corrected",
    ),
    Remedy(
        "options/parsing/texts.py",
        "option {}={} must be {}",
        f"{OPTIONS}::test_a_number_of_the_command_line_is_taken_when_it_is_one",
    ),
    Remedy(
        "options/parsing/texts.py",
        "unknown escape",
        f"{OPTIONS}::test_an_option_of_the_command_line_is_taken_when_corrected",
    ),
    Remedy(
        "options/storage_events.py",
        "name a connection by conn_id",
        f"{OPTIONS}::test_a_refused_option_is_taken_when_corrected",
    ),
]
