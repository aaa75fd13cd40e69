"""The environment variables that a Spark driver inherits from a task: only those on an allowlist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from itertools import chain

INHERITED = (
    # ambient identity, and access to stores and clusters
    *("AWS_*", "AZURE_*", "CLOUDSDK_*", "FSSPEC_*", "GCE_*", "GOOGLE_*", "HADOOP_*", "HDFS_*", "IDENTITY_ENDPOINT"),
    *("IDENTITY_HEADER", "IDENTITY_SERVER_THUMBPRINT", "IMDS_ENDPOINT", "KRB5*", "KUBECONFIG", "KUBERNETES_*"),
    *("LIBHDFS_*", "MSI_ENDPOINT", "MSI_SECRET", "NETRC", "NO_GCE_CHECK", "SSH_AUTH_SOCK", "STORAGE_EMULATOR_HOST"),
    "YARN_*",
    *chain.from_iterable((name, name.upper()) for name in ("all_proxy", "ftp_proxy", "http_proxy", "https_proxy")),
    *("grpc_proxy", "no_grpc_proxy", "GRPC_*"),  # of Spark Connect, with the certificates that it trusts
    *("no_proxy", "NO_PROXY", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"),
    # programs and libraries
    *("ARROW_*", "CLASSPATH", "DYLD_*", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LD_*", "MALLOC_*"),
    *("MKL_*", "OMP_*", "OPENBLAS_*", "PATH", "PYSPARK_*", "PYTHON*", "SPARK_*", "VIRTUAL_ENV"),
    # the user and the machine
    *("HOME", "HOSTNAME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ"),
    *("TZDIR", "USER"),
)
"""Names and patterns of inherited variables; case matters."""


def inherited(environment: Mapping[str, str], further: Iterable[str]) -> dict[str, str]:
    """Return the variables that a driver inherits.

    Args:
        environment: the variables of the task.
        further: names and patterns that the user adds, such as `CORP_*`.
    """
    patterns = (*INHERITED, *further)
    return {
        name: value for name, value in environment.items() if any(fnmatchcase(name, pattern) for pattern in patterns)
    }
