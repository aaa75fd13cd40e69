"""The stores, by the schemes of their URIs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """What is known about a store from its scheme alone.

    Attributes:
        store: module of `backends` and class, as `module:Class`.
        extra: the extra of this package that installs its client.
        port: the default port of its servers.
        same_as: the scheme by which `place_of` names its places.
        one_store: whether all URIs with this scheme are in one store, whatever host or bucket they name.
        hosts: two parts of a host name for the same server; `place_of` replaces the first one by the second.
        colons: whether the authority of its URIs contains colons that do not begin a password.
        rooted: whether its URIs name no server, and begin at the root with two or three slashes.
        has_times: whether each file has a modification time, so that 0 is a valid one.
        decodes: whether its servers decode names, so that `%2e%2e` may mean the folder above.
        has_blocks: whether its files have blocks, for whose size it must be asked.
    """

    store: str = "shared.base:FsspecStore"
    extra: str | None = None
    port: str | None = None
    same_as: str | None = None
    one_store: bool = False
    hosts: tuple[str, str] | None = None
    colons: bool = False
    rooted: bool = False
    has_times: bool = False
    decodes: bool = False
    has_blocks: bool = False


_SFTP = Scheme(store="sftp:SftpStore", extra="sftp", port="22", has_times=True)
_HDFS = Scheme(store="hdfs:HdfsStore", has_blocks=True)
_OTHER = Scheme()

#: The known stores, by the scheme of their canonical URIs.
SCHEMES: Mapping[str, Scheme] = {
    "abfs": Scheme(store="azure:AzureStore", extra="azure", hosts=(".blob.", ".dfs."), has_times=True),
    "file": Scheme(store="disk:LocalDisk", one_store=True, has_times=True),
    "github": Scheme(colons=True),  # organisation:repository@version
    "gs": Scheme(store="google:GoogleStore", extra="gcs", one_store=True, has_times=True),
    "hdfs": _HDFS,
    "http": Scheme(store="web:WebStore", port="80", decodes=True),
    "https": Scheme(store="web:WebStore", port="443", decodes=True),
    "memory": Scheme(store="memory:MemoryStore", rooted=True),
    "s3": Scheme(store="s3:S3Store", extra="s3", one_store=True, has_times=True),
    "sftp": _SFTP,
    "ssh": replace(_SFTP, same_as="sftp"),
    "webhdfs": replace(_HDFS, store="hdfs:WebHdfsStore"),
}
#: Other names of these schemes, which canonical URIs do not contain.
ALIASES: Mapping[str, str] = {"abfss": "abfs", "az": "abfs", "gcs": "gs", "local": "file", "s3a": "s3", "s3n": "s3"}


def scheme_for(uri: str) -> Scheme:
    """Return what is known about a scheme, given by name or in a canonical URI; any other may be a store of fsspec."""
    return SCHEMES.get(uri.partition("://")[0], _OTHER)
