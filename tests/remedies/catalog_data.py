"""Where the remedies of options, blocks, records and storage are carried out."""

from __future__ import annotations

from tests.remedies.catalog import Entry, Explained, Remedy

_OPTIONS = "tests/remedies/data/test_options.py"
_RECORDS = "tests/remedies/data/test_records.py"
_LIMITS = "tests/remedies/data/test_limits.py"
_WEB = "tests/remedies/data/test_web.py"
_SOURCES = "tests/remedies/data/test_sources.py"
_STORES = "tests/remedies/data/test_stores.py"

BLOCKS: list[Entry] = [
    Explained(
        "blocks/group.py", "at least 1, but are", "Splitting refuses such numbers before, and nobody else makes limits."
    ),
    Remedy(
        "blocks/split.py",
        "64 MiB suits most sources",
        f"{_OPTIONS}::test_block_ranges_are_made_when_their_arguments_are_in_range",
    ),
    Remedy(
        "blocks/split.py",
        "must not be negative",
        f"{_OPTIONS}::test_block_ranges_are_made_when_their_arguments_are_in_range",
    ),
]

OPTIONS: list[Entry] = [
    Remedy(
        "options/encodings.py", "unknown encoding", f"{_OPTIONS}::test_every_encoding_that_a_message_offers_is_read"
    ),
    Remedy(
        "options/encodings.py", "is not read: use", f"{_OPTIONS}::test_every_encoding_that_a_message_offers_is_read"
    ),
    Remedy(
        "options/encodings.py",
        "choose another text or encoding",
        f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected",
    ),
    Remedy(
        "options/formats.py",
        "compression must be one of",
        f"{_OPTIONS}::test_every_value_that_a_message_offers_is_taken",
    ),
    Remedy("options/formats.py", "must be a single", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/formats.py", "newline must be", f"{_OPTIONS}::test_every_value_that_a_message_offers_is_taken"),
    Remedy(
        "options/formats.py",
        "delimited: delimiter must hold",
        f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected",
    ),
    Remedy(
        "options/formats.py", "leave it out for newlines", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Remedy("options/formats.py", "must not be part of", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/formats.py", "must not be a newline", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/formats.py", "must not be the same byte", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Remedy("options/formats.py", "columns must be", f"{_OPTIONS}::test_every_value_that_a_message_offers_is_taken"),
    Remedy("options/formats.py", "needs header=True", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/formats.py", "layout must be", f"{_OPTIONS}::test_every_value_that_a_message_offers_is_taken"),
    Remedy("options/formats.py", "whole number of bytes", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/formats.py", "must be a multiple", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/formats.py", "short_last must be", f"{_OPTIONS}::test_every_value_that_a_message_offers_is_taken"),
    Remedy(
        "options/formats.py", "'package.module:Class'", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Remedy("options/plan.py", "must be one of", f"{_OPTIONS}::test_every_value_that_a_message_offers_is_taken"),
    Remedy("options/plan.py", "whole number above 0", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/read.py", "must name a directory", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/read.py", "choose a place beside it", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy(
        "options/read.py", "'package.module:function'", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Explained(
        "options/read.py",
        "one version of this package",
        "Only two versions of this package that share a ledger or work area write and read such options.",
    ),
    Remedy("options/read.py", "heartbeat_s=", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/sizes.py", "write bytes as", f"{_OPTIONS}::test_texts_are_read_when_written_as_the_message_shows"),
    Remedy("options/sizes.py", "at least 1 byte", f"{_OPTIONS}::test_texts_are_read_when_written_as_the_message_shows"),
    Remedy("options/source.py", "at least one root", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "Leave identity out", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "number of seconds", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "recursive=False is", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "no file has at least", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/source.py", "is no marker", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"),
    Remedy("options/times.py", "is not a time", f"{_OPTIONS}::test_texts_are_read_when_written_as_the_message_shows"),
    Remedy(
        "options/times.py", "is not a duration", f"{_OPTIONS}::test_texts_are_read_when_written_as_the_message_shows"
    ),
    Remedy(
        "options/times.py",
        "no path can be read by",
        f"{_OPTIONS}::test_a_time_pattern_is_read_when_written_as_the_message_shows",
    ),
    Remedy(
        "options/times.py", "must hold %Y", f"{_OPTIONS}::test_a_time_pattern_is_read_when_written_as_the_message_shows"
    ),
    Remedy(
        "options/upstream.py", "uri must name the file", f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected"
    ),
    Explained(
        "options/values.py",
        "unknown kind of option",
        "Only options that another version of this package wrote are of an unknown kind.",
    ),
    Remedy(
        "options/values.py", "has no option", f"{_OPTIONS}::test_an_option_of_the_command_line_is_taken_when_corrected"
    ),
    Remedy(
        "options/values.py", "true or false", f"{_OPTIONS}::test_an_option_of_the_command_line_is_taken_when_corrected"
    ),
    Remedy(
        "options/values.py",
        "option {}={} must be {}",
        f"{_OPTIONS}::test_a_number_of_the_command_line_is_taken_when_it_is_one",
    ),
    Remedy(
        "options/values.py", "unknown escape", f"{_OPTIONS}::test_an_option_of_the_command_line_is_taken_when_corrected"
    ),
    Remedy(
        "options/watching.py",
        "name a connection by conn_id",
        f"{_OPTIONS}::test_a_refused_option_is_taken_when_corrected",
    ),
]

RECORDS: list[Entry] = [
    Remedy(
        "records/csv.py", "takes up the file", f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names"
    ),
    Remedy("records/csv.py", "is not UTF-8", f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names"),
    Remedy(
        "records/csv.py", "cannot be read (", f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names"
    ),
    Remedy(
        "records/csv_decode.py",
        "columns are not known yet",
        f"{_LIMITS}::test_columns_are_known_by_a_schema_or_from_a_window",
    ),
    Remedy(
        "records/csv_decode.py",
        "where the schema has",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy("records/csv_decode.py", "twice; rename", f"{_RECORDS}::test_a_run_goes_on_without_a_file_that_is_excluded"),
    Remedy(
        "records/csv_decode.py",
        "cannot be of type",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/csv_infer.py",
        "the headers of the files differ",
        f"{_LIMITS}::test_files_with_unlike_headers_are_read_by_name_or_without_one_of_them",
    ),
    Remedy(
        "records/csv_runs.py",
        "quotes stand in a row",
        "tests/remedies/data/test_long_runs.py::test_a_file_is_read_as_one_block",
    ),
    Explained(
        "records/csv_split.py",
        "please report this",
        "No file is known that is split so; property tests look for one, and an exclusion is that of any other file.",
    ),
    Remedy(
        "records/custom.py", "cannot be imported", f"{_LIMITS}::test_a_class_is_found_once_its_module_is_importable"
    ),
    Remedy(
        "records/custom.py",
        "derive it from records.BaseFormat",
        f"{_LIMITS}::test_a_class_that_is_no_format_becomes_one",
    ),
    Remedy("records/custom.py", "; correct them", f"{_LIMITS}::test_a_class_takes_the_options_that_it_has"),
    Remedy(
        "records/delimited.py",
        "overlaps itself",
        "tests/remedies/data/test_long_runs.py::test_a_file_is_read_as_one_block",
    ),
    Remedy(
        "records/encodings.py",
        "begins with the byte order mark",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/encodings.py",
        "no byte order mark",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/escaped.py",
        "escapes in a row",
        "tests/remedies/data/test_long_runs.py::test_a_file_is_read_as_one_block",
    ),
    Remedy(
        "records/json_array.py",
        "does not begin with",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy("records/json_array.py", "ends behind the", f"{_RECORDS}::test_a_corrected_file_is_read"),
    Remedy("records/json_array.py", "take it out", f"{_RECORDS}::test_a_corrected_file_is_read"),
    Remedy(
        "records/json_parse.py",
        "choose other types",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Explained(
        "records/json_parse.py",
        "JSON values where",
        "It never leaves the decoder, which looks at each record of the chunk then.",
    ),
    Explained(
        "records/json_parse.py",
        "no text becomes",
        "It is the reason within the message about the schema, which names the remedy.",
    ),
    Remedy(
        "records/json_text.py",
        "no record start can be told",
        "tests/remedies/data/test_long_runs.py::test_a_file_is_read_as_one_block",
    ),
    Remedy("records/json_walk.py", "take out what follows", f"{_RECORDS}::test_a_corrected_file_is_read"),
    Remedy(
        "records/narrowing.py",
        "choose a shorter one",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/narrowing.py",
        "give it as str",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/narrowing.py",
        "set encoding to that",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/reading.py",
        "its name does not say so",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Explained(
        "records/reading.py",
        "record that starts at byte",
        "It tells the place of a record; the reason behind it names the remedy.",
    ),
    Remedy(
        "records/registry.py",
        "unknown record format",
        f"{_OPTIONS}::test_every_record_format_that_a_message_offers_is_made",
    ),
    Remedy(
        "records/schema.py",
        "print it with",
        f"{_LIMITS}::test_a_schema_that_arrow_printed_in_part_is_read_when_printed_whole",
    ),
    Remedy(
        "records/schema.py",
        "at least one column",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/schema.py",
        "write each column as",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/schema.py",
        "has the unknown type",
        f"{_RECORDS}::test_a_run_goes_on_with_the_option_that_the_message_names",
    ),
    Remedy(
        "records/source.py",
        "raise Policies",
        f"{_LIMITS}::test_a_record_that_is_looked_for_is_found_when_the_policy_is_raised",
    ),
    Remedy(
        "records/source.py",
        "restore the planned version",
        "tests/pipeline/test_bad_files.py::test_file_truncated_while_it_is_read",
    ),
    Remedy(
        "records/streaming.py",
        "decompress it",
        f"{_LIMITS}::test_a_format_that_looks_back_reads_a_file_that_is_not_compressed",
    ),
    Remedy(
        "records/streaming.py", "raise Policies", f"{_LIMITS}::test_what_a_policy_refuses_is_read_when_it_is_raised"
    ),
    Explained(
        "records/text_values.py",
        "no text becomes",
        "It is caught where a schema is looked at, and told in a message that names the remedy.",
    ),
    Explained(
        "records/text_values.py",
        "{} is no {}",
        "It is the reason of one bad record, which the pipeline's message is about.",
    ),
    Remedy("records/transcoding.py", "set encoding to that", f"{_RECORDS}::test_a_corrected_file_is_read"),
    Explained(
        "records/walking.py",
        ": the {} record that",
        "It tells the place of a record; the reason behind it names the remedy.",
    ),
    Remedy("records/walking.py", "ends inside the", f"{_RECORDS}::test_a_corrected_file_is_read"),
]

STORAGE: list[Entry] = [
    Remedy(
        "storage/edge.py",
        "no file can have this path",
        f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says",
    ),
    Remedy("storage/edge.py", "the store is full", f"{_STORES}::test_a_disk_that_failed_is_written_once_it_does_not"),
    Remedy("storage/edge.py", "the store failed (", f"{_STORES}::test_a_disk_that_failed_is_written_once_it_does_not"),
    Remedy(
        "storage/edge.py", "exclude it from its window", f"{_STORES}::test_a_file_that_is_gone_is_restored_or_excluded"
    ),
    Remedy("storage/edge.py", "access denied", f"{_STORES}::test_a_store_that_refused_is_read_once_it_does_not"),
    Remedy(
        "storage/globs.py", "*.csv or **/*.json", f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says"
    ),
    Remedy(
        "storage/globs.py", "from low to high", f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says"
    ),
    Remedy(
        "storage/holding.py",
        "let a done_marker say",
        f"{_WEB}::test_an_age_that_cannot_be_told_is_left_out_and_a_marker_says_when",
    ),
    Remedy(
        "storage/identity.py",
        "does not tell the file's size",
        f"{_WEB}::test_a_file_of_unknown_size_is_read_from_a_store_that_tells_it",
    ),
    Remedy(
        "storage/listing.py", "does not exist", f"{_SOURCES}::test_a_source_may_be_made_before_the_first_file_lands"
    ),
    Remedy(
        "storage/listing.py",
        "neither a folder nor a file",
        f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says",
    ),
    Remedy("storage/listing.py", "name the one above it", f"{_STORES}::test_a_root_with_a_name_is_listed"),
    Remedy("storage/pages/sftp.py", "link to a folder", "tests/stores/test_sftp.py::test_links"),
    Remedy("storage/pages/web.py", "on and on", f"{_WEB}::test_folders_that_go_on_and_on_end_by_a_depth_or_a_pattern"),
    Remedy(
        "storage/pages/web.py",
        "lists no files",
        f"{_WEB}::test_a_folder_without_an_index_is_listed_once_there_is_one_or_by_its_files",
    ),
    Remedy("storage/pages/web.py", "in other pages", f"{_WEB}::test_an_index_in_pages_is_read_once_it_is_one_page"),
    Remedy(
        "storage/pages/web.py",
        "names like a file",
        f"{_WEB}::test_a_folder_that_is_named_like_a_file_is_excluded_and_may_be_a_root_of_its_own",
    ),
    Remedy(
        "storage/patience.py", "tried {} times", f"{_STORES}::test_a_listing_that_fails_again_and_again_goes_on_later"
    ),
    Remedy(
        "storage/pinned.py",
        "does not tell of which version",
        f"{_STORES}::test_a_file_whose_answers_tell_no_version_is_read_elsewhere",
    ),
    Explained(
        "storage/pinned.py",
        "no longer the version",
        "Only a server that ignores If-Match answers so, and none that runs here does; the remedy is that of storage/versions.py.",
    ),
    Remedy(
        "storage/ranges.py",
        "gives ranges of it as asked",
        f"{_WEB}::test_a_file_without_ranges_is_read_from_a_store_that_gives_them",
    ),
    Remedy(
        "storage/regexes.py",
        "write a glob without",
        f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says",
    ),
    Remedy(
        "storage/regexes.py",
        "without an expression",
        f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says",
    ),
    Remedy(
        "storage/remote.py",
        "gives no ranges",
        f"{_WEB}::test_a_file_without_ranges_is_read_from_a_store_that_gives_them",
    ),
    Explained("storage/schemes.py", "Data Lake Gen1", "Azure has ended that store, so nothing can be moved from it."),
    Explained(
        "storage/schemes.py",
        "install it: ",
        "No test installs packages; tests/storage/test_schemes.py holds the names of the extras.",
    ),
    Remedy(
        "storage/schemes.py",
        "the scheme is unknown",
        f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says",
    ),
    Remedy("storage/schemes.py", "options do not fit", f"{_STORES}::test_options_that_do_not_fit_are_corrected"),
    Explained(
        "storage/schemes.py",
        "libhdfs",
        "No test installs Hadoop; tests/stores/test_hdfs.py reads by webhdfs, the other remedy.",
    ),
    Remedy(
        "storage/schemes.py",
        "opens the account",
        "tests/stores/test_accounts.py::test_one_connection_for_both_is_an_error",
    ),
    Remedy("storage/stores.py", "is a folder or a device", f"{_SOURCES}::test_a_file_is_read_once_it_is_one"),
    Explained(
        "storage/stores.py",
        "clear the group that wrote it",
        "The proof looks at each file's size before; only a change between the proof and the move is told here.",
    ),
    Remedy("storage/stores.py", "cannot be moved", f"{_STORES}::test_a_file_is_put_in_its_own_store"),
    Remedy("storage/stores.py", "cannot be put at", f"{_STORES}::test_a_file_is_put_in_its_own_store"),
    Remedy("storage/taking.py", "was not renamed", f"{_STORES}::test_a_file_that_may_be_renamed_is_taken_away"),
    Remedy(
        "storage/taking.py",
        "replaced twice",
        f"{_STORES}::test_a_file_that_was_replaced_twice_is_brought_to_a_name_that_is_read",
    ),
    Remedy("storage/upstream.py", "correct the list", f"{_SOURCES}::test_a_list_is_read_once_it_is_corrected"),
    Remedy(
        "storage/upstream.py",
        "write it before the plan runs",
        f"{_SOURCES}::test_a_list_is_read_once_it_is_written_or_named_rightly",
    ),
    Remedy(
        "storage/upstream.py",
        "lies in none of the source's roots",
        f"{_SOURCES}::test_a_file_of_a_list_is_read_when_restored_or_its_folder_is_a_root",
    ),
    Remedy(
        "storage/upstream.py",
        "restore it, or leave it out",
        f"{_SOURCES}::test_a_file_of_a_list_is_read_when_restored_or_its_folder_is_a_root",
    ),
    Remedy("storage/uris.py", "names no place", f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says"),
    Remedy("storage/uris.py", "chain of URLs", f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says"),
    Remedy("storage/uris.py", "is no URI", f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says"),
    Remedy(
        "storage/uris.py", "is not absolute", f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says"
    ),
    Remedy(
        "storage/uris.py", "holds a password", f"{_STORES}::test_a_place_without_a_password_is_opened_by_its_connection"
    ),
    Remedy(
        "storage/versions.py",
        "is no longer the version",
        "tests/pipeline/test_bad_files.py::test_file_changed_between_plan_and_read",
    ),
    Remedy(
        "storage/walk.py",
        "takes this for another name",
        f"{_STORES}::test_a_name_that_the_client_takes_for_another_is_renamed_or_excluded",
    ),
    Remedy("storage/walk.py", "same page again", f"{_STORES}::test_a_listing_that_fails_again_and_again_goes_on_later"),
    Remedy("storage/walk.py", "vanished while", f"{_STORES}::test_a_folder_that_vanished_is_listed_the_next_time"),
    Explained("storage/walk.py", "was given up", "It ends the threads of a listing that nobody waits for any more."),
    Remedy("storage/walk.py", "is not UTF-8", f"{_SOURCES}::test_names_that_are_no_text_are_renamed_or_excluded"),
    Remedy("storage/scan.py", "vanished while", f"{_STORES}::test_a_folder_that_vanished_is_listed_the_next_time"),
    Remedy(
        "storage/scan.py",
        "must not be listed",
        f"{_SOURCES}::test_a_folder_is_listed_once_the_account_may_or_when_it_is_excluded",
    ),
    Explained(
        "storage/scan.py",
        "exclude it from its window",
        "Only tells what storage/edge.py says; a folder that is gone has vanished instead.",
    ),
    Explained(
        "storage/scan.py",
        "access denied",
        "Only tells what storage/edge.py says; a folder that is locked must not be listed instead.",
    ),
    Explained(
        "storage/scan.py",
        "no file can have this path",
        "Only tells what storage/edge.py says, whose remedies are carried out there.",
    ),
    Explained(
        "storage/scan.py",
        "the store failed",
        "Only tells what storage/edge.py says, whose remedies are carried out there.",
    ),
    Explained(
        "storage/scan.py",
        "the store is full",
        "Only tells what storage/edge.py says, whose remedies are carried out there.",
    ),
    Remedy(
        "storage/regular.py",
        "a pipe, a socket or a device",
        f"{_SOURCES}::test_a_source_is_found_when_written_as_the_message_says",
    ),
    Explained("storage/redirects.py", "from https to http", "FILL"),
    Explained("storage/redirects.py", "redirects to another host", "FILL"),
    Explained(
        "storage/versions.py",
        "no /proc",
        "No system without /proc runs these tests; the option is carried out for links, in tests/storage/test_links.py.",
    ),
    Remedy(
        "storage/versions.py",
        "reached by a link out",
        "tests/storage/test_links.py::test_a_link_exchanged_after_the_plan_leads_nowhere",
    ),
]

CATALOG: list[Entry] = [*BLOCKS, *OPTIONS, *RECORDS, *STORAGE]
