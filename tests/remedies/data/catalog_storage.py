"""Where the remedies of sources and stores are carried out."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry, Explained, Remedy

WEB = "tests/remedies/data/test_web.py"
SOURCES = "tests/remedies/data/test_sources.py"
STORES = "tests/remedies/data/test_stores.py"

_TEXTS = ("names no place", "chain of URLs", "is not a URI", "is not absolute", "with a blank", "no user with")
_FOUND = f"{SOURCES}::test_a_source_is_found_when_written_as_the_message_says"
_WRITTEN = [Remedy("storage/uris.py", text, _FOUND) for text in _TEXTS]
STORAGE_SIDE: list[Entry] = [
    Remedy(
        "storage/backends/registry.py",
        "no atomic commit",
        "tests/sinks/tables/test_table_columns.py::test_a_store_without_an_atomic_commit",
    ),
    Remedy(
        "storage/backends/shared/errors.py",
        "no file can have this path",
        _FOUND,
    ),
    Remedy(
        "storage/backends/shared/errors.py",
        "the store is full",
        f"{STORES}::test_a_disk_that_failed_is_written_once_it_does_not",
    ),
    Remedy(
        "storage/backends/shared/errors.py",
        "the store failed (",
        f"{STORES}::test_a_disk_that_failed_is_written_once_it_does_not",
    ),
    Remedy(
        "storage/backends/shared/errors.py",
        "exclude it from its window",
        f"{STORES}::test_a_file_that_is_gone_is_restored_or_excluded",
    ),
    Remedy(
        "storage/backends/shared/errors.py",
        "access denied",
        f"{STORES}::test_a_store_that_refused_is_read_once_it_does_not",
    ),
    Remedy("storage/listing/globs.py", "*.csv or **/*.json", _FOUND),
    Remedy("storage/listing/globs.py", "from low to high", _FOUND),
    Remedy("storage/listing/globs.py", "globs here have no", _FOUND),
    Remedy("storage/listing/rules.py", "begins with a root of the source", _FOUND),
    Remedy(
        "storage/listing/held_back.py",
        "use a done_marker",
        f"{WEB}::test_an_age_that_cannot_be_told_is_left_out_and_a_marker_says_when",
    ),
    Remedy(
        "storage/backends/shared/identity.py",
        "does not report the file's size",
        f"{WEB}::test_a_file_of_unknown_size_is_read_from_a_store_that_tells_it",
    ),
    Remedy(
        "storage/listing/files.py",
        "does not exist",
        f"{SOURCES}::test_a_source_may_be_made_before_the_first_file_lands",
    ),
    Remedy(
        "storage/listing/files.py",
        "neither a folder nor a file",
        _FOUND,
    ),
    Remedy(
        "storage/backends/shared/objects.py", "name the one above it", f"{STORES}::test_a_root_with_a_name_is_listed"
    ),
    Remedy("storage/backends/sftp.py", "link to a folder", "tests/stores/test_sftp.py::test_links"),
    Remedy(
        "storage/backends/web.py", "never end", f"{WEB}::test_folders_that_go_on_and_on_end_by_a_depth_or_a_pattern"
    ),
    Remedy(
        "storage/backends/web.py",
        "lists no files",
        f"{WEB}::test_a_folder_without_an_index_is_listed_once_there_is_one_or_by_its_files",
    ),
    Remedy("storage/backends/web.py", "in other pages", f"{WEB}::test_an_index_in_pages_is_read_once_it_is_one_page"),
    Remedy(
        "storage/backends/web.py",
        "names like a file",
        f"{WEB}::test_a_folder_that_is_named_like_a_file_is_excluded_and_may_be_a_root_of_its_own",
    ),
    Remedy(
        "storage/patience.py", "tried {} times", f"{STORES}::test_a_listing_that_fails_again_and_again_goes_on_later"
    ),
    Remedy(
        "storage/backends/shared/objects.py",
        "does not say which version",
        f"{STORES}::test_a_file_whose_answers_tell_no_version_is_read_elsewhere",
    ),
    Explained(
        "storage/backends/shared/objects.py",
        "no longer the version",
        "No server that runs here ignores If-Match; the remedy is that of storage/versions.py.",
    ),
    Remedy(
        "storage/ranges.py",
        "the store gives {} bytes",
        f"{WEB}::test_a_file_without_ranges_is_read_from_a_store_that_gives_them",
    ),
    Remedy(
        "storage/ranges.py",
        "the store answers with the range",
        f"{WEB}::test_a_file_without_ranges_is_read_from_a_store_that_gives_them",
    ),
    Explained(
        "storage/backends/web.py",
        "from https to http",
        "What to write instead is the user's to know; test_redirects.py reads by https.",
    ),
    Remedy(
        "storage/backends/web.py",
        "redirects to another host",
        f"{WEB}::test_a_redirect_is_followed_to_the_host_that_the_message_names",
    ),
    Remedy("storage/listing/regexes.py", "write a glob without", _FOUND),
    Remedy("storage/listing/regexes.py", "without an expression", _FOUND),
    Remedy("storage/uris.py", "working folder", f"{SOURCES}::test_a_relative_source_needs_a_working_folder"),
    Remedy(
        "storage/backends/disk_calls.py",
        "takes names of files as",
        "tests/storage/listing/test_locales.py::test_a_process_that_takes_names_otherwise_is_refused",
    ),
    Remedy(
        "storage/backends/disk_calls.py",
        "a pipe, a socket or a device",
        _FOUND,
    ),
    Remedy(
        "storage/backends/shared/base.py",
        "serves no ranges",
        f"{WEB}::test_a_file_without_ranges_is_read_from_a_store_that_gives_them",
    ),
    Explained(
        "storage/backends/disk_calls.py",
        "might overwrite",
        "Every disk that runs these tests renames to a free name in one step.",
    ),
    Remedy(
        "storage/listing/local.py", "vanished while", f"{STORES}::test_a_folder_that_vanished_is_listed_the_next_time"
    ),
    Remedy(
        "storage/listing/local.py",
        "ways; exclude",
        "tests/storage/test_links.py::test_links_lead_to_one_folder_in_few_ways",
    ),
    Remedy(
        "storage/listing/local.py",
        "cannot be listed",
        f"{SOURCES}::test_a_folder_is_listed_once_the_account_may_or_when_it_is_excluded",
    ),
    Explained(
        "storage/listing/local.py",
        "exclude it from its window",
        "Only repeats what storage/backends/shared/errors.py says; a folder that is gone has vanished instead.",
    ),
    Explained(
        "storage/listing/local.py",
        "access denied",
        "Only repeats what storage/backends/shared/errors.py says; a folder that is locked cannot be listed instead.",
    ),
    Explained(
        "storage/listing/local.py",
        "no file can have this path",
        "Only repeats what storage/backends/shared/errors.py says, whose remedies are carried out there.",
    ),
    Explained(
        "storage/listing/local.py",
        "the store failed",
        "Only repeats what storage/backends/shared/errors.py says, whose remedies are carried out there.",
    ),
    Explained(
        "storage/listing/local.py",
        "the store is full",
        "Only repeats what storage/backends/shared/errors.py says, whose remedies are carried out there.",
    ),
    Explained(
        "storage/backends/registry.py", "Data Lake Gen1", "Azure has ended that store, so nothing can be moved from it."
    ),
    Explained(
        "storage/backends/registry.py",
        "install it: ",
        "No test installs packages; tests/storage/test_schemes.py holds the names of the extras.",
    ),
    Remedy(
        "storage/backends/registry.py",
        "the scheme is unknown",
        _FOUND,
    ),
    Remedy(
        "storage/backends/registry.py", "options do not fit", f"{STORES}::test_options_that_do_not_fit_are_corrected"
    ),
    Remedy(
        "storage/backends/azure.py",
        "no account of Azure",
        f"{STORES}::test_an_account_of_azure_is_named_in_the_address_or_by_a_connection",
    ),
    Explained(
        "storage/backends/hdfs.py",
        "libhdfs",
        "No test installs Hadoop; tests/stores/test_hdfs.py reads by webhdfs, the other remedy.",
    ),
    Remedy(
        "storage/backends/azure.py",
        "opens the account",
        "tests/stores/test_accounts.py::test_one_connection_for_both_is_an_error",
    ),
    Remedy("storage/stores.py", "is a folder or a device", f"{SOURCES}::test_a_file_is_read_once_it_is_one"),
    Explained(
        "storage/stores.py",
        "clear the group that wrote it",
        "The proof looks at each size before; only a change right after it is reported here.",
    ),
    Remedy("storage/stores.py", "cannot be moved", f"{STORES}::test_a_file_is_put_in_its_own_store"),
    Remedy("storage/stores.py", "cannot be put at", f"{STORES}::test_a_file_is_put_in_its_own_store"),
    Remedy("storage/stores.py", "move it away, then repeat", f"{STORES}::test_a_file_is_put_in_its_own_store"),
    Remedy(
        "storage/backends/shared/model.py",
        "could not be renamed",
        f"{STORES}::test_a_file_that_may_be_renamed_is_taken_away",
    ),
    Remedy(
        "storage/backends/shared/model.py",
        "replaced twice",
        f"{STORES}::test_a_file_that_was_replaced_twice_is_brought_to_a_name_that_is_read",
    ),
    Remedy("storage/listing/upstream.py", "correct the list", f"{SOURCES}::test_a_list_is_read_once_it_is_corrected"),
    Remedy(
        "storage/listing/upstream.py",
        "write it before the plan runs",
        f"{SOURCES}::test_a_list_is_read_once_it_is_written_or_named_rightly",
    ),
    Remedy(
        "storage/listing/upstream.py",
        "is in none of the source's roots",
        f"{SOURCES}::test_a_file_of_a_list_is_read_when_restored_or_its_folder_is_a_root",
    ),
    Remedy(
        "storage/listing/upstream.py",
        "restore it, or leave it out",
        f"{SOURCES}::test_a_file_of_a_list_is_read_when_restored_or_its_folder_is_a_root",
    ),
    *_WRITTEN,
    Remedy(
        "storage/uris.py",
        "contains a password",
        f"{STORES}::test_a_place_without_a_password_is_opened_by_its_connection",
    ),
    Remedy(
        "storage/uris.py",
        "contains a secret",
        f"{WEB}::test_a_place_without_a_secret_is_opened_by_a_header_of_its_connection",
    ),
    Remedy(
        "storage/versions.py",
        "is no longer the version",
        "tests/pipeline/read/test_bad_files.py::test_file_changed_between_plan_and_read",
    ),
    Remedy(
        "storage/versions.py",
        "a pipe or a device where",
        "tests/pipeline/commit/test_vanishing.py::test_what_is_no_file_any_more_has_changed",
    ),
    Explained(
        "storage/versions.py",
        "no /proc",
        "No system without /proc runs these tests; test_links.py carries the option out.",
    ),
    Remedy(
        "storage/versions.py",
        "reached by a link out",
        "tests/storage/test_links.py::test_a_link_exchanged_after_the_plan_leads_nowhere",
    ),
    Remedy(
        "storage/backends/shared/errors.py",
        "takes this for another name",
        f"{STORES}::test_a_name_that_the_client_takes_for_another_is_renamed_or_excluded",
    ),
    Remedy(
        "storage/listing/paged.py",
        "same page repeatedly",
        f"{STORES}::test_a_listing_that_fails_again_and_again_goes_on_later",
    ),
    Remedy(
        "storage/listing/paged.py", "vanished while", f"{STORES}::test_a_folder_that_vanished_is_listed_the_next_time"
    ),
    Explained(
        "storage/listing/paged.py", "was stopped", "It ends the threads of a listing that nobody waits for any more."
    ),
    Remedy(
        "storage/listing/paged.py", "is not UTF-8", f"{SOURCES}::test_names_that_are_no_text_are_renamed_or_excluded"
    ),
]
