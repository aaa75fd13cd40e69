"""Credentials of the role of an `aws` connection, with the fields that Airflow's own provider defines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from airflow.sdk.log import mask_secret

from airflow_provider_blockread.errors import OptionsError, TransientError

if TYPE_CHECKING:
    from airflow.sdk import Connection

Keys = tuple[str | None, str | None, str | None]
"""Access key, secret key and session token; without keys, the identity is the host's own, or that of the profile."""

_REGION = "us-east-1"  # the service needs one; every region knows every role
_SERVERS_FAULT = 500  # HTTP statuses from here on
_THROTTLED = re.compile("Throttl|LimitExceeded|TooManyRequests")


def assume_role(connection: Connection, keys: Keys) -> Keys:
    """Return temporary keys of the connection's `role_arn`, valid for an hour or for `DurationSeconds`.

    The role is assumed with the connection's own keys, its profile, or the host's identity. Each try of a task and
    each listing by a trigger assumes it again, so the keys need to last only for one try or listing.

    Args:
        connection: has `role_arn`, and may have `assume_role_kwargs`, `region_name`, `verify`, `profile_name`, and the
            service's own address as `service_config["sts"]["endpoint_url"]`.
        keys: the connection's own keys.

    Raises:
        OptionsError: when the role may not be assumed, or its method is not supported.
        TransientError: when the service cannot be reached.
    """
    try:
        import botocore.exceptions as of  # noqa: PLC0415 - of an extra
        import botocore.session  # noqa: PLC0415 - of an extra
    except ImportError as error:
        msg = f"connection {connection.conn_id!r}: role_arn needs botocore; install airflow-provider-blockread[s3]"
        raise OptionsError(msg) from error
    asked = f"connection {connection.conn_id!r}: role {connection.extra_dejson['role_arn']} was not assumed"
    try:
        answer = _client(connection, keys, botocore.session.Session).assume_role(**_request(connection))
    except of.ClientError as error:
        throttled = _THROTTLED.search(str(error.response.get("Error", {}).get("Code"))) is not None
        if throttled or error.response["ResponseMetadata"]["HTTPStatusCode"] >= _SERVERS_FAULT:
            msg = f"{asked}: {error}; try again"
            raise TransientError(msg) from error
        msg = f"{asked}: {error}; let the role trust the connection's identity, and correct assume_role_kwargs"
        raise OptionsError(msg) from error
    except (of.ConnectionError, of.HTTPClientError) as error:
        msg = f"{asked}: {error}; name the service's address in service_config if it is not the default, or try again"
        raise TransientError(msg) from error
    except (of.BotoCoreError, ValueError) as error:
        msg = f"{asked}: {error}; correct the connection"
        raise OptionsError(msg) from error
    given = answer["Credentials"]
    for name in ("SecretAccessKey", "SessionToken"):
        mask_secret(given[name])
    return given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"]


def _client(connection: Connection, keys: Keys, make_session: Any) -> Any:  # noqa: ANN401 - botocore has no types
    extra = connection.extra_dejson
    session = make_session(profile=extra.get("profile_name"))
    own = (extra.get("service_config") or {}).get("sts") or {}
    return session.create_client(
        "sts",
        region_name=extra.get("region_name") or session.get_config_variable("region") or _REGION,
        # As in Airflow's own provider, an endpoint for all services is not used for STS.
        endpoint_url=own.get("endpoint_url"),
        verify=extra.get("verify"),
        aws_access_key_id=keys[0],
        aws_secret_access_key=keys[1],
        aws_session_token=keys[2],
    )


def _request(connection: Connection) -> dict[str, Any]:
    extra = connection.extra_dejson
    method = extra.get("assume_role_method") or "assume_role"
    if method != "assume_role":
        msg = (
            f"connection {connection.conn_id!r}: assume_role_method {method!r} is not supported;"
            " name a profile that does it (profile_name), or give this role to the hosts"
        )
        raise OptionsError(msg)
    name = re.sub(r"[^\w+=,.@-]", "-", f"Airflow_{connection.conn_id}", flags=re.ASCII)[:64]
    return {"RoleSessionName": name} | (extra.get("assume_role_kwargs") or {}) | {"RoleArn": extra["role_arn"]}
