"""Where the remedies of the data source's errors are carried out."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Remedy

_HERE = "tests/spark/data_source/test_remedies.py"
_SESSION = "tests/spark/data_source/test_session.py"
_COLUMNS, _OPTIONS, _PLANNING = (f"spark/data_source/{name}.py" for name in ("columns", "options", "planning"))

CATALOG: list[Entry] = [
    Remedy(_COLUMNS, "a column twice", f"{_HERE}::test_columns_that_are_not_there"),
    Remedy(_COLUMNS, "no column of the files", f"{_HERE}::test_columns_that_are_not_there"),
    Remedy(_COLUMNS, "declare columns as they are", f"{_HERE}::test_a_schema_that_the_files_do_not_have"),
    Remedy(_COLUMNS, "different columns", f"{_HERE}::test_columns_by_two_ways"),
    Remedy(_OPTIONS, "has no format", f"{_HERE}::test_a_format_or_option_of_another_name"),
    Remedy(_OPTIONS, "has no option", f"{_HERE}::test_a_format_or_option_of_another_name"),
    Remedy(_OPTIONS, "must be a JSON object", f"{_HERE}::test_arguments_of_a_format_that_are_no_json"),
    Remedy(_OPTIONS, "without a path", f"{_HERE}::test_a_load_without_a_path"),
    Remedy(_OPTIONS, "needs a work area", f"{_HERE}::test_quarantine"),
    Remedy(_OPTIONS, "as in 0-3,7", f"{_HERE}::test_files_and_blocks_that_are_not_there"),
    Remedy(_PLANNING, "name files as _file does", f"{_HERE}::test_files_and_blocks_that_are_not_there"),
    Remedy(_PLANNING, "name blocks as _block does", f"{_HERE}::test_files_and_blocks_that_are_not_there"),
    Remedy(_OPTIONS, "CREATE TEMPORARY VIEW", f"{_SESSION}::test_a_table_of_a_catalog"),
    Remedy("spark/data_source/reading.py", "set on_bad_record", f"{_HERE}::test_a_bad_record"),
    Remedy("spark/data_source/source.py", "declare another type", f"{_HERE}::test_a_type_that_spark_lacks"),
    Remedy("spark/data_source/source.py", "declare a string", f"{_HERE}::test_a_type_that_spark_lacks"),
    Remedy("spark/data_source/source.py", "neither writes nor streams", f"{_SESSION}::test_writing_and_streaming"),
    Remedy("spark/inferring.py", "cannot be inferred, ", f"{_HERE}::test_headers_that_differ"),
]
