"""Where the remedies of record formats are carried out."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Explained, Remedy

OPTIONS = "tests/remedies/data/test_options.py"
RECORDS = "tests/remedies/data/test_records.py"
LIMITS = "tests/remedies/data/test_limits.py"
RESCUE = "tests/records/json/test_json_rescue.py"
LONG = "tests/remedies/data/test_long_runs.py"
_MERGED = "tests/merging/test_forms.py"

RECORDS_SIDE: list[Entry] = [
    Remedy("records/decode.py", "are too long", "tests/records/test_decode.py::test_what_arrow_cannot_hold_is_refused"),
    Remedy("records/members/index.py", "not a merged file", f"{_MERGED}::test_damage_is_found_when_members_are_read"),
    Remedy(
        "records/io/seek_table.py", "restore it, or merge its files again", f"{_MERGED}::test_a_seek_table_is_needed"
    ),
    Remedy("records/members/format.py", "found by an index", f"{_MERGED}::test_members_need_their_index"),
    Remedy("records/columns/rescued.py", "give it another name", f"{RESCUE}::test_a_column_of_that_name"),
    Remedy("records/json/infer.py", "sample more files", "tests/cli/test_schema.py::test_a_sample_without_objects"),
    Remedy("records/json/rescue.py", "rescue=True needs a schema", f"{RESCUE}::test_rescue_needs_a_schema"),
    Remedy(
        "records/csv/format.py",
        "extends to the end of the file",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/csv/format.py", "is not UTF-8", f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names"
    ),
    Remedy(
        "records/csv/decode.py",
        "columns are not known yet",
        f"{LIMITS}::test_columns_are_known_by_a_schema_or_from_a_window",
    ),
    Remedy(
        "records/csv/decode.py",
        "; correct the schema",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/csv/decode.py",
        "names must be equal",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/csv/decode.py",
        "which is none of",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy("records/csv/decode.py", "twice; rename", f"{RECORDS}::test_a_run_goes_on_without_a_file_that_is_excluded"),
    Remedy(
        "records/csv/decode.py",
        "cannot be of type",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/columns/times.py",
        "install a newer one on all workers",
        "tests/records/columns/test_schema.py::test_nanoseconds_need_a_pyarrow_that_refuses_other_times",
    ),
    Remedy(
        "records/csv/infer.py",
        "the headers of the files differ",
        f"{LIMITS}::test_files_with_unlike_headers_are_read_by_name_or_without_one_of_them",
    ),
    Remedy("records/csv/runs.py", "quotes in a row from", f"{LONG}::test_a_file_is_read_as_one_block"),
    Explained(
        "records/csv/split.py", "please report this", "No file is known that is split so; property tests look for one."
    ),
    Remedy("records/custom.py", "cannot be imported", f"{LIMITS}::test_a_class_is_found_once_its_module_is_importable"),
    Remedy(
        "records/custom.py",
        "; derive it from",
        f"{LIMITS}::test_a_class_that_is_no_format_becomes_one",
    ),
    Remedy("records/custom.py", "retry when it can", f"{LIMITS}::test_a_class_that_needs_what_is_away_is_made_later"),
    Remedy("records/custom.py", "; correct them", f"{LIMITS}::test_a_class_takes_the_options_that_it_has"),
    Remedy("records/text/delimited.py", "overlaps itself", f"{LONG}::test_a_file_is_read_as_one_block"),
    Remedy(
        "records/text/encodings.py",
        "begins with the byte order mark",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/text/encodings.py",
        "no byte order mark",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/json/array.py",
        "does not start with",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy("records/json/array.py", "ends after the", f"{RECORDS}::test_a_corrected_file_is_read"),
    Remedy("records/json/array.py", "remove it", f"{RECORDS}::test_a_corrected_file_is_read"),
    Remedy(
        "records/json/parse.py",
        "choose other types",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Explained(
        "records/json/parse.py",
        "JSON values, expected",
        "It never leaves the decoder, which looks at each record of the chunk then.",
    ),
    Explained(
        "records/json/parse.py",
        "no text becomes",
        "It is the reason within the message about the schema, which names the remedy.",
    ),
    Remedy("records/text/pieces.py", "no record start can be found", f"{LONG}::test_a_file_is_read_as_one_block"),
    Remedy("records/json/walk.py", "correct the `}`", f"{RECORDS}::test_a_corrected_file_is_read"),
    Remedy("records/json/walk.py", "remove what follows", f"{RECORDS}::test_a_corrected_file_is_read"),
    Remedy(
        "records/text/narrowing.py",
        "choose a shorter one",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/text/narrowing.py",
        "give it as str",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/text/narrowing.py",
        "set encoding to that",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/reading.py",
        "data, not text",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/reading.py",
        "its name does not say so",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Explained(
        "records/reading.py",
        "record that starts at byte",
        "It names the place of a record; the reason behind it names the remedy.",
    ),
    Remedy(
        "records/registry.py",
        "unknown record format",
        f"{OPTIONS}::test_every_record_format_that_a_message_offers_is_made",
    ),
    Remedy(
        "records/columns/schema.py",
        "print it with",
        f"{LIMITS}::test_a_schema_that_arrow_printed_in_part_is_read_when_printed_whole",
    ),
    Remedy(
        "records/columns/schema.py",
        "at least one column",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/columns/schema.py",
        "write each column as",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/columns/schema.py",
        "has the unknown type",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/columns/schema.py",
        "choose flatter types",
        f"{RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/io/source.py",
        "raise Policies(max_record_bytes",
        f"{LIMITS}::test_a_record_that_is_looked_for_is_found_when_the_policy_is_raised",
    ),
    Remedy(
        "records/io/source.py",
        "restore the planned version",
        "tests/pipeline/read/test_bad_files.py::test_file_truncated_while_it_is_read",
    ),
    Remedy(
        "records/io/source.py",
        "raise Policies(max_columns",
        f"{LIMITS}::test_what_a_policy_refuses_is_read_when_it_is_raised",
    ),
    Remedy(
        "records/io/streaming.py",
        "decompress it",
        f"{LIMITS}::test_a_format_that_looks_back_reads_a_file_that_is_not_compressed",
    ),
    Remedy(
        "records/io/streaming.py", "raise Policies", f"{LIMITS}::test_what_a_policy_refuses_is_read_when_it_is_raised"
    ),
    Explained(
        "records/columns/values.py",
        "no text becomes",
        "It is caught where a schema is looked at, and reported in a message that names the remedy.",
    ),
    Explained(
        "records/columns/values.py",
        "hexadecimal digits",
        "It is the reason of one bad record, which the pipeline's message is about.",
    ),
    Explained(
        "records/columns/decimals.py",
        "{} is not a {}",
        "It is the reason of one bad record, which the pipeline's message is about.",
    ),
    Remedy("records/text/transcoding.py", "set encoding to that", f"{RECORDS}::test_a_corrected_file_is_read"),
    Explained(
        "records/walking.py",
        ": the {} record that",
        "It names the place of a record; the reason behind it names the remedy.",
    ),
    Explained("records/walking.py", "correct the file, or", "custom formats of nearly all tests raise nothing"),
    Explained("records/walking.py", "walks from byte", "custom formats of nearly all tests walk on"),
    Remedy("records/walking.py", "ends inside the", f"{RECORDS}::test_a_corrected_file_is_read"),
]
