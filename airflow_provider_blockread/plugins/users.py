"""Airflow's users as visitors of the pages: Airflow's auth manager decides about their rights."""

from __future__ import annotations

from collections.abc import Collection

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import BaseAuthManager, ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.batch_apis import IsAuthorizedDagRequest
from airflow.api_fastapi.auth.managers.models.resource_details import ConnectionDetails, DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
from airflow.models.connection import Connection
from airflow.models.dag import DagModel
from starlette.exceptions import HTTPException
from starlette.requests import Request

from airflow_provider_blockread.pages.site import FeedRef


async def airflow_user(request: Request) -> AirflowUser:
    """Return the user of a request, from the token or cookie of Airflow's own pages.

    Raises:
        HTTPException: 401 when nobody is signed in, or the token is not from Airflow.
    """
    try:
        user = await get_user(request, None, await bearer_scheme(request))
    except HTTPException as error:  # of an old or foreign token, too: to sign in again helps
        raise HTTPException(401, error.detail) from error
    return AirflowUser(get_auth_manager(), user)


class AirflowUser:
    """A user of Airflow. For a feed, the user needs the corresponding right on every DAG whose runs used the feed.

    A feed that no DAG used is for users who may edit the connection of its ledger: they could read and change
    everything in it without these pages.
    """

    def __init__(self, manager: BaseAuthManager[BaseUser], user: BaseUser) -> None:
        self._manager, self._user = manager, user
        self._known: dict[tuple[str, DagAccessEntity, FeedRef], bool] = {}
        self._teams: dict[str, str | None] = {}  # by DAG

    @property
    def name(self) -> str:
        """The user's name, as in Airflow's audit log."""
        return self._user.get_name()

    def seen_among(self, feeds: Collection[FeedRef]) -> list[FeedRef]:
        """Return the feeds that the user may see, after one look-up of the teams of all their DAGs."""
        self._look_up(frozenset().union(*(feed.dags for feed in feeds)))
        return [feed for feed in feeds if self.may_see(feed)]

    def may_see(self, feed: FeedRef) -> bool:
        """Return whether the user may read the runs of the feed's DAGs."""
        return self._may("GET", DagAccessEntity.RUN, feed)

    def may_read_records(self, feed: FeedRef) -> bool:
        """Return whether the user may read the logs of the tasks of the feed's DAGs, which quote records."""
        return self.may_see(feed) and self._may("GET", DagAccessEntity.TASK_LOGS, feed)

    def may_change(self, feed: FeedRef) -> bool:
        """Return whether the user may clear tasks of the feed's DAGs."""
        return self.may_see(feed) and self._may("PUT", DagAccessEntity.TASK_INSTANCE, feed)

    def _may(self, method: ResourceMethod, entity: DagAccessEntity, feed: FeedRef) -> bool:
        asked = (method, entity, feed)
        if asked not in self._known:
            self._known[asked] = self._ask(method, entity, feed.dags) if feed.dags else self._administers(feed.ledger)
        return self._known[asked]

    def _ask(self, method: ResourceMethod, entity: DagAccessEntity, dags: frozenset[str]) -> bool:
        self._look_up(dags)
        requests: list[IsAuthorizedDagRequest] = [
            {"method": method, "access_entity": entity, "details": DagDetails(id=dag, team_name=self._teams[dag])}
            for dag in sorted(dags)
        ]
        return self._manager.batch_is_authorized_dag(requests, user=self._user)

    def _look_up(self, dags: frozenset[str]) -> None:
        """Learn the teams of DAGs that are not known yet."""
        if new := sorted(dags - self._teams.keys()):
            found = DagModel.get_dag_id_to_team_name_mapping(new)
            self._teams |= {dag: found.get(dag) for dag in new}

    def _administers(self, conn_id: str) -> bool:
        details = ConnectionDetails(conn_id=conn_id, team_name=Connection.get_team_name(conn_id))
        return self._manager.is_authorized_connection(method="PUT", details=details, user=self._user)
