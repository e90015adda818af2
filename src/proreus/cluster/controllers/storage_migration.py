"""StorageVersionMigration: every object of a resource is written once more, unchanged.

So it is stored in the version and under the key that count now. A write that changes nothing is
stored only if its bytes would be others, and makes no event otherwise. Objects that were written
after the migration began need nothing, and neither do those that others write or delete meanwhile:
each is written at the version it was listed in. A controller that is started again goes on with a
migration that is running.
"""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.api.status import (
    ApiError,
    Conflict,
    InternalError,
    NotFound,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
)
from proreus.client import conditions
from proreus.client.controller import Controller, Result
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.discovered import discover, resource_client
from proreus.cluster.controllers.reconciler import ObjectReconciler

_MIGRATIONS = "storageversionmigrations.storagemigration.k8s.io"
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_MANAGER = "storage-version-migrator-controller"
_VERBS = ("update", "patch", "list")
RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"
_REASONS = {
    RUNNING: "StorageVersionMigrationInProgress",
    SUCCEEDED: "StorageVersionMigrationSucceeded",
    FAILED: "StorageVersionMigrationFailed",
}
# The same request may succeed later.
_PASSING = (
    TooManyRequests, ServiceUnavailable, ServerTimeout, Timeout, InternalError, Unauthorized,
)  # fmt: skip


def with_phase(migration: KubeObject, phase: str, message: str, now: float) -> Json:
    """The status of a migration that is in a phase: one that ended does not run any more."""
    status = migration.to_dict().get("status") or {}
    found = conditions.present(migration)
    if phase != RUNNING and conditions.is_true(migration, RUNNING):
        ended = conditions.condition(RUNNING, "False", _REASONS[RUNNING], "", now)
        found = conditions.with_condition(found, ended)
    reached = conditions.condition(phase, "True", _REASONS[phase], message, now)
    # A status always has a version; that of a migration that cannot begin is its own.
    version = status.get("resourceVersion") or migration.resource_version
    return {
        **status,
        "resourceVersion": version,
        "conditions": conditions.with_condition(found, reached),
    }


def is_ended(migration: KubeObject) -> bool:
    return conditions.is_true(migration, SUCCEEDED) or conditions.is_true(migration, FAILED)


def storage_version(definition: KubeObject) -> str:
    return str(next(one["name"] for one in definition.spec.versions if one["storage"]))


class StorageMigrations(ObjectReconciler):
    async def sync(self, migration: KubeObject) -> Result | None:
        if is_ended(migration):
            return None
        resource = await self._resource(migration)
        if isinstance(resource, str):
            await self._set_phase(migration, FAILED, resource)
            return None
        definition = await self._definition(resource)
        objects = resource_client(self.client, resource)
        if not conditions.is_true(migration, RUNNING):
            migration = await self._begin(migration, objects)
        try:
            await self._rewrite_all(objects, resource, int(migration.status.resourceVersion))
        except _PASSING:
            raise
        except ApiError as refused:
            why = f"migration encountered unhandled error: {refused}"
            await self._set_phase(migration, FAILED, why)
            return None
        await self._set_stored_version(definition)
        await self._set_phase(migration, SUCCEEDED)
        return None

    async def _resource(self, migration: KubeObject) -> ApiResource | str:
        """In the server's preferred version; a sentence if it cannot be migrated."""
        asked = migration.spec.resource
        found = await discover(self.client)
        for one in found.resources:
            if (one.group, one.name) == (asked.get("group") or "", asked["resource"]):
                if one.verbs.issuperset(_VERBS):
                    return one
                gvr = f"{one.group}/{one.version}, Resource={one.name}"
                verbs = " ".join(_VERBS)
                return f'resource "{gvr}" does not support discovery operations: [{verbs}]'
        if found.failures:
            raise ServiceUnavailable(f"discovery is incomplete: {'; '.join(found.failures)}")
        return "resource does not exist in discovery"

    async def _begin(self, migration: KubeObject, objects: ResourceClient) -> KubeObject:
        """What was written before now is written again."""
        newest = (await objects.metadata_only.in_all_namespaces().list(limit=1)).resource_version
        status = with_phase(migration, RUNNING, "", self.clock.now())
        return await self.write_status(migration, {**status, "resourceVersion": newest})

    async def _rewrite_all(
        self, objects: ResourceClient, resource: ApiResource, until: int
    ) -> None:
        for found in await objects.metadata_only.in_all_namespaces().list_all():
            if int(found.resource_version) <= until:
                await _rewrite(objects.in_namespace_of(found), resource, found)

    async def _set_phase(self, migration: KubeObject, phase: str, message: str = "") -> None:
        await self.write_status(migration, with_phase(migration, phase, message, self.clock.now()))

    async def _definition(self, resource: ApiResource) -> KubeObject | None:
        """That of a custom resource."""
        definitions = self.client.resource(_DEFINITIONS)
        try:
            return await definitions.get(f"{resource.name}.{resource.group}")
        except NotFound:
            return None

    async def _set_stored_version(self, before: KubeObject | None) -> None:
        """Nothing is stored in another version any more, unless the definition changed meanwhile:
        then the next migration does so."""
        if before is None or not before.status:
            return
        version = storage_version(before)
        if list(before.status.storedVersions or ()) == [version]:
            return
        definitions = self.client.resource(_DEFINITIONS)
        patch = {
            "metadata": {"resourceVersion": before.resource_version},
            "status": {"storedVersions": [version]},
        }
        try:
            await definitions.patch(before.name, patch, subresource="status")
        except (Conflict, NotFound):
            return


async def _rewrite(objects: ResourceClient, resource: ApiResource, found: KubeObject) -> None:
    """At its own version, and as the very object that was listed: one that was written since needs
    nothing, and one that is gone is not made again."""
    itself = {
        "apiVersion": str(resource.group_version),
        "kind": resource.kind,
        "metadata": {"uid": found.uid, "resourceVersion": found.resource_version},
    }
    try:
        await objects.patch(found.name, itself, type="apply", field_manager=_MANAGER)
    except (Conflict, NotFound):
        return


def storage_migration_controller(context: ControllerContext) -> Controller:
    return StorageMigrations(context, _MIGRATIONS).controller("storage-migration", concurrency=5)
