"""Where commands run Spark: in this process, on a cluster, or on a Spark Connect server."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import click

from airflow_provider_blockread.cli.options.shared import option_group, parse_pairs
from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.cli.terminal.printing import terminal
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.engines.session import Server
from airflow_provider_blockread.spark.installed import require_java, require_pyspark, require_spark
from airflow_provider_blockread.spark.remote import RemoteSpark

_LOCAL = "local[*]"


@dataclass(frozen=True, kw_only=True)
class OnSpark:
    """The options for where Spark runs."""

    master: str | None
    remote: str | None
    conf: tuple[str, ...]
    py_file: tuple[str, ...] = ()

    def check_spark(self) -> None:
        """Refuse options that contradict each other, and missing files, Spark or Java, before anything is planned.

        Raises:
            OptionsError: naming what to change.
        """
        missing = [file for file in self.py_file if "://" not in file and not Path(file).exists()]
        if missing:
            msg = f"--py-file {missing[0]} does not exist; correct its path"
            raise OptionsError(msg)
        if self._job().remote is None:
            require_spark()
            require_java(os.environ)
            require_pyspark(os.environ)

    def open_spark(self) -> AbstractContextManager[InProcessSpark | RemoteSpark]:
        """Return a submitter that starts or connects to Spark at its first job."""
        job = self._job()
        if job.remote is not None:
            return RemoteSpark(Server(job.remote), job, observer=terminal())
        return InProcessSpark(job.master or _LOCAL, job.conf, job.py_files)

    def _job(self) -> SparkJob:
        conf = parse_pairs("--conf", self.conf)
        return SparkJob(master=self.master, remote=self.remote, conf=conf, py_files=self.py_file)


#: `--master`, `--remote` and `--conf`.
cluster_options = option_group(
    click.option("--conf", multiple=True, metavar="KEY=VALUE", help="Spark configuration; repeatable."),
    click.option("--remote", metavar="URL", help="A Spark Connect server, as sc://host:port, instead of a master."),
    click.option("--master", help=f"Spark master; the driver is this process.  [default: {_LOCAL}]"),
)

#: The same and `--py-file`, for commands that run a user's code.
spark_options = option_group(
    click.option("--py-file", multiple=True, metavar="FILE", help="A module or zip for Spark's tasks; repeatable."),
    cluster_options,
)
