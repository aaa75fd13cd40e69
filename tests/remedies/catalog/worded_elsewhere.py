"""Errors whose text is not in the source where they are made: where it is worded, and the tests of what it advises."""

from __future__ import annotations

_DELTA, _ICEBERG = "tests/sinks/tables/test_delta.py", "tests/sinks/tables/test_iceberg.py"
_COLUMNS, _PARTITIONS = "tests/sinks/tables/test_table_columns.py", "tests/sinks/test_partitions.py"
_LOG = "tests/sinks/test_log.py"
_POSTGRES = "tests/sinks/tables/postgres/test_postgres.py"
_RIGHTS = "tests/sinks/tables/postgres/test_postgres_rights.py"
_CORRECTED = "tests/remedies/test_functions.py::test_a_function_that_is_corrected"
_PASSED_ON = "the text of another error, which has an entry of its own, with a place before it"

_ONE_COLUMN = ("tests/sinks/tables/test_matching.py::test_two_columns_of_rows_that_are_one_are_refused",)
_TABLES = (
    "`refuse` of each table, and of sinks/evolution.py; `unmatched` of sinks/matching.py",
    (
        "tests/sinks/tables/test_evolution.py::test_a_table_that_does_not_evolve_refuses_new_columns",
        "tests/sinks/tables/test_evolution.py::test_a_name_that_differs_by_case_is_no_new_column",
        f"{_DELTA}::test_a_table_of_another_schema",
        f"{_DELTA}::test_a_column_that_must_not_be_null",
        f"{_DELTA}::test_a_table_whose_rules_files_cannot_keep",
        f"{_ICEBERG}::test_a_table_of_another_schema",
        f"{_PARTITIONS}::test_a_table_with_other_partitions",
        f"{_POSTGRES}::test_a_table_of_another_schema",
        f"{_RIGHTS}::test_an_account_that_may_not",
        f"{_RIGHTS}::test_rows_that_a_policy_hides",
        "tests/sinks/tables/test_matching.py::test_a_table_that_was_made_meanwhile_in_another_case",
        *_ONE_COLUMN,
    ),
)

_ARCHIVES = ("`_misfit` of the same file", ("tests/merging/test_forms.py::test_what_is_no_file_is_refused",))

_COLUMNS_OF_LOG = (
    "`compared` of sinks/log/columns.py, and `refuse` of sinks/evolution.py",
    (
        f"{_LOG}::test_partition_columns_come_back_as_they_were",
        f"{_LOG}::test_columns_that_two_publishers_add_at_once",
        *_TABLES[1][:2],
    ),
)

#: By file and function: where the text is worded, and tests.
WORDED_ELSEWHERE: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("options/checks.py", "parsed_or_template"): ("the parser of the option", ()),
    ("options/checks.py", "rendered"): (_PASSED_ON, ()),
    ("options/values.py", "build"): (_PASSED_ON, ()),
    ("records/csv/decode.py", "csv_decoder"): (_PASSED_ON, ()),
    ("records/io/codecs.py", "_refuse"): ("those who call it", ()),
    ("sinks/log/directory.py", "prepare"): _COLUMNS_OF_LOG,
    ("sinks/log/entries.py", "add_columns"): _COLUMNS_OF_LOG,
    ("sinks/matching.py", "write"): ("`unmatched` of the same file", _ONE_COLUMN),
    ("sinks/parquet.py", "prepare"): (
        "`misarranged` of sinks/columnar/arranged.py and `unmatched` of sinks/matching.py",
        (f"{_PARTITIONS}::test_rows_that_cannot_be_partitioned", *_ONE_COLUMN),
    ),
    ("sinks/columnar/writer.py", "write"): (
        "`misnamed` of sinks/conform.py, `misarranged` of sinks/columnar/arranged.py, and `misfit` of tables",
        (
            "tests/sinks/test_arranged.py::test_what_columns_do_not_have",
            f"{_COLUMNS}::test_a_type_that_no_table_holds",
            f"{_COLUMNS}::test_names_that_differ_by_case_only",
            f"{_POSTGRES}::test_a_type_that_it_does_not_hold",
            f"{_POSTGRES}::test_a_name_that_it_does_not_take",
            _CORRECTED,
        ),
    ),
    ("sinks/partitions.py", "write"): (
        "`misnamed` of sinks/conform.py, and `misarranged` of sinks/columnar/arranged.py",
        (f"{_PARTITIONS}::test_rows_that_cannot_be_partitioned", _CORRECTED),
    ),
    ("sinks/archive.py", "prepare"): _ARCHIVES,
    ("sinks/archive.py", "write"): _ARCHIVES,
    ("sinks/text.py", "write"): (
        "`misfit` of each encoding",
        ("tests/sinks/test_text.py::test_columns_are_refused_before_anything_is_read",),
    ),
    ("sinks/tables/iceberg/table.py", "check"): (
        "`unwritable` of sinks/tables/iceberg/commit.py",
        ("tests/sinks/tables/test_iceberg_of_others.py::test_a_table_that_was_upgraded_too_far",),
    ),
    ("sinks/tables/postgres/table.py", "check_creation"): (
        "`lacking_rights` of sinks/tables/postgres/rules.py",
        (f"{_RIGHTS}::test_an_account_that_may_not_create_the_table",),
    ),
    ("sinks/tables/table.py", "prepare"): _TABLES,
    ("sinks/tables/table.py", "_schema"): _TABLES,
    ("spark/frames/calling.py", "output_schema"): ("`misnamed` of sinks/conform.py", (_CORRECTED,)),
    ("steps/read/submitting.py", "run_submission"): (_PASSED_ON, ()),
    ("steps/read/waiting.py", "wait_here"): (
        "exchange/signs.py",
        ("tests/pipeline/deferred/test_scanning.py::test_a_watchdog_sees_that_a_driver_ended",),
    ),
    ("storage/backends/shared/errors.py", "system_error"): (
        "the table in the same file",
        ("tests/remedies/data/test_sources.py::test_a_file_is_read_once_it_is_one",),
    ),
}
