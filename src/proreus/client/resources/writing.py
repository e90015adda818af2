"""The verbs that write: create, replace, patch, apply, delete, delete_collection.

Every write takes a dict or a KubeObject. ``dry_run`` lets the server check and answer without
storing; ``field_manager`` names who owns the fields ("": as the user agent says).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject, ObjectLike, encode
from proreus.api.object_type import Object
from proreus.api.patch.patch_type import PatchType
from proreus.api.wire import json
from proreus.client.resources.observed_write import send_observed
from proreus.client.resources.scope import ResourceScope
from proreus.client.rest.identity import program_name
from proreus.client.rest.request import (
    InvalidRequest,
    RestRequest,
    list_query,
    require_name,
    write_query,
)
from proreus.client.write_log import current_observer

Patch = Json | Sequence[Json] | KubeObject | bytes
_PATCH_TYPES = {
    "json": PatchType.JSON,
    "merge": PatchType.MERGE,
    "strategic": PatchType.STRATEGIC,
    "apply": PatchType.APPLY,
}


class WriteVerbs(Generic[Object]):
    """Mixed into ``ResourceClient``."""

    _scope: ResourceScope[Object]

    async def create(
        self,
        body: Object | Json,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        field_validation: str = "",
    ) -> Object:
        """Store a new object; the answer is what was stored. Raises ``AlreadyExists``."""
        if subresource:
            path = await self._scope.object_path(_name_of(body), subresource=subresource, body=body)
        else:
            path = await self._scope.path_to_create(body)
        asked = write_query(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation
        )
        return await self._write(
            "create", "POST", path, asked, await self._typed(body), is_dry_run=dry_run
        )

    async def replace(
        self,
        body: Object | Json,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        field_validation: str = "",
    ) -> Object:
        """Put the whole object in place of the stored one.

        Raises ``Conflict`` if the body bears a resourceVersion that is no longer the present one.
        """
        path = await self._scope.object_path(_name_of(body), subresource=subresource, body=body)
        asked = write_query(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation
        )
        return await self._write(
            "update", "PUT", path, asked, await self._typed(body), is_dry_run=dry_run
        )

    async def patch(
        self,
        name: str,
        patch: Patch,
        *,
        type: str | PatchType = "merge",  # noqa: A002  # the word of the API
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        force: bool = False,
    ) -> Object:
        """Change parts of an object. ``type``: json, merge, strategic or apply."""
        kind = type if isinstance(type, PatchType) else _PATCH_TYPES.get(type)
        if kind is None:
            raise InvalidRequest(f"patch type {type!r} is not one of {', '.join(_PATCH_TYPES)}")
        path = await self._scope.object_path(require_name(name), subresource=subresource)
        asked = write_query(dry_run=dry_run, field_manager=field_manager, force=force)
        return await self._write(
            "patch", "PATCH", path, asked, _patch_body(patch), kind.value, is_dry_run=dry_run
        )

    async def apply(
        self,
        body: Object | Json,
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply: own the fields of ``body``, create the object if there is none.

        Raises ``Conflict`` if others own one of them, unless ``force``.
        """
        content = await self._typed(body)
        if (content.get("metadata") or {}).get("managedFields"):
            raise InvalidRequest("an object to apply may not hold metadata.managedFields")
        path = await self._scope.object_path(
            _name_of(content), subresource=subresource, body=content
        )
        configured = self._scope.rest.config.field_manager
        asked = write_query(
            dry_run=dry_run, field_manager=field_manager or configured or program_name(),
            force=force,
        )  # fmt: skip
        return await self._write(
            "apply", "PATCH", path, asked, content, PatchType.APPLY.value, is_dry_run=dry_run
        )

    async def delete(
        self,
        name: str,
        *,
        grace_period_s: int | None = None,
        propagation: str = "",
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
    ) -> KubeObject:
        """Delete an object; the answer is a Status, or the object if it takes time to go.

        ``propagation``: Background, Foreground or Orphan. With ``uid`` or ``resource_version``
        only that very object is deleted. Raises ``NotFound``, ``Conflict``.
        """
        path = await self._scope.object_path(require_name(name))
        options = _delete_options(
            grace_period_s=grace_period_s,
            propagation=propagation,
            preconditions={"uid": uid, "resourceVersion": resource_version},
            dry_run=dry_run,
        )
        return await self._write("delete", "DELETE", path, (), options, is_dry_run=dry_run)

    async def delete_collection(
        self,
        *,
        label_selector: str = "",
        field_selector: str = "",
        grace_period_s: int | None = None,
        propagation: str = "",
        dry_run: bool = False,
    ) -> KubeObject:
        """Delete everything selected in the namespace."""
        path = await self._scope.path_to_create({})
        asked = list_query(label_selector=label_selector, field_selector=field_selector)
        options = _delete_options(
            grace_period_s=grace_period_s,
            propagation=propagation,
            preconditions={},
            dry_run=dry_run,
        )
        form = self._scope.accept_list  # what was deleted is answered as a list
        return await self._write(
            "deletecollection", "DELETE", path, asked, options, accept=form, is_dry_run=dry_run
        )

    async def _typed(self, body: ObjectLike) -> ObjectLike:
        """With kind and apiVersion, which the server demands and people forget."""
        if body.get("kind") and body.get("apiVersion"):
            return body
        resource = await self._scope.resolved()
        gvk = resource.gvk
        return {"kind": gvk.kind, "apiVersion": gvk.api_version, **dict(body.items())}

    async def _write(
        self,
        verb: str,
        method: str,
        path: str,
        asked: tuple[tuple[str, str], ...],
        body: ObjectLike | bytes,
        content_type: str = "application/json",
        *,
        accept: str = "",
        is_dry_run: bool = False,
    ) -> Object:
        content = body if isinstance(body, bytes) else encode(body)
        form = accept or self._scope.accept
        request = RestRequest(verb, method, path, asked, content, content_type, accept=form)
        observer = current_observer()
        if observer is None or is_dry_run:
            return await self._scope.get_object(request)
        resource = await self._scope.resolved()
        found = await send_observed(self._scope.rest, request, observer, resource)
        return self._scope.typed(found)


def _name_of(body: ObjectLike) -> str:
    name = (body.get("metadata") or {}).get("name")
    return require_name(str(name or ""))


def _patch_body(patch: Patch) -> ObjectLike | bytes:
    if isinstance(patch, (bytes, KubeObject, Mapping)):
        return patch
    return json.encode([dict(operation) for operation in patch])


def _delete_options(
    *, grace_period_s: int | None, propagation: str, preconditions: Mapping[str, str], dry_run: bool
) -> JsonObject:
    options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if grace_period_s is not None:
        options["gracePeriodSeconds"] = grace_period_s
    if propagation:
        options["propagationPolicy"] = propagation
    if wanted := {key: value for key, value in preconditions.items() if value}:
        options["preconditions"] = wanted
    if dry_run:
        options["dryRun"] = ["All"]
    return options
