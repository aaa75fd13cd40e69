"""Where the remedies of sinks are carried out, and of the columns that they ask for."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Explained, Remedy

_DELTA, _COMMITS = "tests/sinks/tables/test_delta.py", "tests/pipeline/commit/test_tables.py"
_RESTORED = "tests/pipeline/commit/test_restored_ledgers.py"
_ICEBERG = "tests/sinks/tables/test_iceberg.py"
_IDS = "tests/sinks/tables/test_field_ids.py"
_ACCESS = "tests/sinks/tables/test_table_access.py"
_POSTGRES = "tests/sinks/tables/postgres/test_postgres.py"
_PARTITIONS = "tests/sinks/test_partitions.py"
_OTHERS = "tests/sinks/test_others.py"
_LOG = "tests/sinks/test_log.py"
_FULL = "tests/sinks/test_full_disk.py"
_ALL_OR_NONE = "tests/sinks/test_log.py::test_all_windows_of_a_directory_are_logged_or_none"
_FUNCTIONS = "what a function does with a value is tested of functions"
_JSON_CSV = "tests/sinks/test_json_csv.py"
_COLUMNS = "tests/sinks/tables/test_table_columns.py"

_MATCHING = "tests/sinks/tables/test_matching.py"
_REWRITTEN = "tests/sinks/tables/test_rewritten.py"
_AUDIT = "tests/pipeline/functions/test_audit.py"
_PATHS = "tests/pipeline/functions/test_path_columns.py"
_MERGED = "tests/merging/test_forms.py"

CATALOG: list[Entry] = [
    Remedy("spark/tasks/audit.py", "returns no column", f"{_AUDIT}::test_behind_a_function_that_drops_rows"),
    Remedy("spark/tasks/audit.py", "rename one of them", f"{_AUDIT}::test_a_column_of_the_same_name"),
    Remedy("spark/tasks/audit.py", "has no date", f"{_PATHS}::test_a_window_without_a_date"),
    Remedy("spark/tasks/audit.py", "of their own", f"{_PATHS}::test_rows_that_have_such_a_column"),
    Remedy("spark/tasks/audit.py", "path_columns are taken", f"{_PATHS}::test_behind_a_query"),
    Remedy("spark/tasks/audit.py", "has no folder", f"{_PATHS}::test_a_file_without_such_a_folder"),
    Remedy("sinks/archive.py", "keep the two together", f"{_MERGED}::test_damage_is_found_when_members_are_read"),
    Remedy("sinks/archive.py", "cannot be counted", f"{_MERGED}::test_what_was_harmed_is_not_published"),
    Remedy("sinks/archive.py", "but its index", f"{_MERGED}::test_what_was_harmed_is_not_published"),
    Explained(
        "sinks/tables/delta/table.py",
        "cannot be read or written",
        "a store that fails; retries are tested of stores",
    ),
    Remedy("sinks/tables/delta/table.py", "access to the Delta table", f"{_ACCESS}::test_a_delta_table_that_is_denied"),
    Remedy("sinks/tables/delta/table.py", "is append-only", f"{_DELTA}::test_an_append_only_table"),
    Explained("sinks/tables/delta/table.py", "cannot commit to", "the tables of nearly all tests have other features"),
    Explained("sinks/tables/delta/table.py", "cannot read this", "the tables of nearly all tests have other features"),
    Remedy(
        "sinks/tables/table.py",
        "leave such rows",
        "tests/sinks/tables/test_table_rules.py::test_nulls_where_none_may_be",
    ),
    Remedy("sinks/tables/iceberg/errors.py", "cannot be reached", f"{_ACCESS}::test_a_catalog_that_fails"),
    Remedy(
        "sinks/tables/iceberg/files.py",
        "has deleted rows",
        "tests/sinks/tables/test_iceberg_of_others.py::test_rows_that_are_deleted_by_another_file",
    ),
    Remedy("sinks/tables/iceberg/errors.py", "refuses this", f"{_ACCESS}::test_a_catalog_that_refuses_its_credentials"),
    Remedy(
        "sinks/tables/iceberg/files.py",
        "has other column ids",
        f"{_IDS}::test_a_column_that_another_writer_makes_again",
    ),
    Remedy(
        "sinks/tables/iceberg/table.py",
        "correct properties",
        "tests/sinks/tables/test_table_rules.py::test_a_version_of_iceberg_that_its_library_does_not_write",
    ),
    Remedy(
        "sinks/tables/iceberg/table.py", "cannot load this catalog", f"{_ICEBERG}::test_a_catalog_that_cannot_be_loaded"
    ),
    Remedy(
        "sinks/tables/postgres/errors.py",
        "not take the rows",
        "tests/sinks/tables/postgres/test_postgres_refusals.py::test_rows_that_a_constraint_refuses",
    ),
    Remedy(
        "sinks/tables/postgres/errors.py",
        "grant what is missing",
        "tests/sinks/tables/postgres/test_postgres_rights.py::test_a_right_that_is_gone_at_the_commit",
    ),
    Remedy(
        "sinks/tables/postgres/errors.py",
        "the database's disk is full",
        f"{_FULL}::test_a_window_is_whole_once_there_is_space",
    ),
    Remedy(
        "sinks/tables/postgres/errors.py",
        "longer than this account may",
        "tests/sinks/tables/postgres/test_postgres_rights.py::test_an_account_with_limits",
    ),
    Remedy("sinks/tables/postgres/errors.py", "cannot be reached", f"{_POSTGRES}::test_a_database_that_is_down"),
    Remedy(
        "sinks/tables/postgres/rows.py",
        "because of a trigger or a rule",
        "tests/sinks/tables/postgres/test_postgres_refusals.py::test_rows_that_cannot_be_deleted",
    ),
    Remedy(
        "sinks/tables/postgres/rows.py",
        "were copied",
        "tests/sinks/tables/postgres/test_postgres_refusals.py::test_rows_that_a_trigger_loses",
    ),
    Explained(
        "sinks/tables/postgres/table.py",
        "that ledger",
        "which ledger published the rows is a fact",
    ),
    Remedy(
        "sinks/matching.py", "does not distinguish", f"{_MATCHING}::test_columns_of_a_table_that_differ_by_case_only"
    ),
    Remedy("sinks/partitions.py", "choose columns of fewer values", f"{_PARTITIONS}::test_too_many_partitions"),
    Remedy("sinks/partitions.py", "in a partition means null", f"{_PARTITIONS}::test_a_value_that_is_no_partition"),
    Explained("sinks/columnar/transforms.py", "next lower multiple", _FUNCTIONS),
    Remedy("sinks/partitions.py", "too long for a partition", f"{_PARTITIONS}::test_a_value_that_is_no_partition"),
    Explained("sinks/partitions.py", "is in no partition", "results are sealed, and written by the same options"),
    Remedy("sinks/directory.py", "or the sink for such a table", f"{_OTHERS}::test_the_folder_of_a_table"),
    Remedy("sinks/directory.py", "by which that was written", f"{_OTHERS}::test_files_of_another_form"),
    Remedy("sinks/directory.py", "for this output alone", f"{_OTHERS}::test_files_of_someone_else"),
    Remedy("sinks/log/directory.py", "would not name this", _ALL_OR_NONE),
    Remedy("sinks/log/directory.py", "would not name them", _ALL_OR_NONE),
    Remedy("sinks/log/entries.py", "at the same time", f"{_LOG}::test_a_column_of_two_types_is_named"),
    Remedy("sinks/log/entries.py", "which is outside of", f"{_LOG}::test_no_file_elsewhere_is_read"),
    Remedy("sinks/log/reading.py", "is not a Parquet file", f"{_LOG}::test_text_is_read_by_its_files"),
    Remedy("sinks/log/reading.py", "has no log", f"{_LOG}::test_a_directory_without_a_log_cannot_be_read_by_it"),
    Remedy("sinks/json_csv.py", "replace NaN and infinity", f"{_JSON_CSV}::test_a_value_that_json_does_not_hold"),
    Remedy(
        "sinks/conform.py", "hold microseconds", "tests/remedies/test_functions.py::test_a_function_that_is_corrected"
    ),
    Explained("sinks/json_csv.py", "has no text for it", _FUNCTIONS),
    Explained("sinks/json_csv.py", "JSON lines hold microseconds", _FUNCTIONS),
    Explained("sinks/partitions.py", "which cannot name a partition", _FUNCTIONS),
    Remedy("sinks/conform.py", "holds a NUL", f"{_JSON_CSV}::test_a_nul_in_a_text"),
    Remedy("sinks/json_csv.py", "csv cannot hold", f"{_JSON_CSV}::test_a_value_that_csv_does_not_hold"),
    Remedy("sinks/json_csv.py", "is not a JSON type", f"{_JSON_CSV}::test_a_value_that_json_does_not_hold"),
    Explained("sinks/registry.py", "not installed here", "the tests' environment has every package"),
    Remedy("sinks/tables/table.py", "retry when they are done", f"{_DELTA}::test_a_table_that_stays_busy"),
    Remedy("sinks/tables/files.py", "does not hold it", f"{_COMMITS}::test_staged_files_are_lost"),
    Remedy("sinks/tables/files.py", "instead of", f"{_COMMITS}::test_staged_files_are_lost"),
    Explained(
        "sinks/tables/table.py",
        "or a later change",
        "only a publisher meets it that another one has overtaken, and whose window is complete without it",
    ),
    Remedy(
        "sinks/tables/format.py",
        "so none is deleted",
        f"{_REWRITTEN}::test_rows_that_are_not_those_that_were_published",
    ),
    Remedy(
        "sinks/tables/delta/places.py",
        "rename the folder",
        "tests/sinks/tables/delta/test_delta_options.py::test_a_path_that_the_library_reads_otherwise",
    ),
    Remedy(
        "sinks/tables/delta/rules.py",
        "correct properties",
        "tests/sinks/tables/delta/test_delta_options.py::test_a_property_that_the_library_does_not_have",
    ),
    Explained("sinks/tables/delta/rows.py", "is not escaped", "other versions of tables are restored in other tests"),
    Explained(
        "sinks/tables/delta/rows.py",
        "by a deletion vector",
        "deltalake writes none; engines that do are not to be had here",
    ),
    Remedy("sinks/tables/table.py", "which the ledger has never published", f"{_RESTORED}::test_the_way_on"),
    Remedy("sinks/tables/table.py", "no longer consists of", f"{_DELTA}::test_a_compaction_takes_the_files_away"),
]
