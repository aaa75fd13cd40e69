"""Errors as a notebook shows them, with remedies for users of the data source instead of those for windows."""

from __future__ import annotations

import re

from airflow_provider_blockread.errors import BlockReadError, FileChangedError, FileMissingError

_WORDS = (
    (r" and give its window up with `blockread windows abandon`, so that the next run takes it", ""),
    (r"`blockread windows exclude`", "the option `exclude`"),
    (r"Policies\((\w+)=\.\.\.\)", r"the option `\1`"),
    (
        r"FileSource\(follow_links='anywhere'\)(?: \(--follow-links anywhere\))?",
        "the option `follow_links` to anywhere",
    ),
    (r"FileSource\(redirect_hosts=\['([^']*)'\]\) \(--redirect-host \S+\)", r"the option `redirect_host` to \1"),
    (r"clear the run from its plan on", "load again"),
    (
        r"into SparkJob\(py_files=\.\.\.\), or --py-file, for the job",
        "on the executors with spark.addArtifacts(..., pyfile=True)",
    ),
)


def advise(error: BlockReadError, *, listed: bool) -> None:
    """Change the message of an error so that it advises what a user of the data source can do.

    Files that were `listed` earlier may have changed since.
    """
    text = str(error.args[0]) if error.args else ""
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    if listed and isinstance(error, (FileMissingError, FileChangedError)):
        text += "; load() lists the files as they are now"
    error.args = (text, *error.args[1:])
