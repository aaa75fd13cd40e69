"""The stores, by the schemes of their URIs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """What is known of a store from its scheme alone.

    Attributes:
        store: module of `backends` and class, as `module:Class`.
        extra: the extra of this package that installs its client.
        port: of its servers, where a URI names none.
        same_as: the scheme by which `place_of` names its places.
        one_store: what has this scheme is one store, whatever host or bucket its URIs name.
        hosts: two parts of a host name for the same server; `place_of` replaces the first one by the second.
        colons: the authority of its URIs contains colons that begin no password.
        rooted: its URIs name no server, and begin at the root with two slashes or three.
        has_times: each file has a modification time, so 0 is one.
        decodes: its servers decode names, so `%2e%2e` may mean the folder above.
        has_blocks: its files have blocks of a size of its own, for which it must be asked.
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
#: Other names of these schemes, which canonical URIs do not have.
ALIASES: Mapping[str, str] = {"abfss": "abfs", "az": "abfs", "gcs": "gs", "local": "file", "s3a": "s3", "s3n": "s3"}


def scheme_for(uri: str) -> Scheme:
    """Return what is known of the scheme of a canonical URI, or of its name; any other may be a store of fsspec."""
    return SCHEMES.get(uri.partition("://")[0], _OTHER)
