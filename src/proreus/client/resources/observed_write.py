"""Sends a write and reports what became of it, to who observes writes (``client.write_log``)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from proreus.api.group_version import GroupResource
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError, NotFound, Timeout
from proreus.api.wire import json
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.rest.request import RestRequest
from proreus.client.write_log import WriteObserver
from proreus.net.client.transport_error import ConnectFailed, NotPermitted, TransportError

if TYPE_CHECKING:
    from proreus.client.rest.client import RestClient


async def send_observed(
    rest: RestClient, request: RestRequest, observer: WriteObserver, resource: ApiResource
) -> KubeObject:
    about = GroupResource(resource.group, resource.name)
    try:
        answer = await rest.get_object(request)
    except NotFound:
        if uid := _uid_to_delete(request):
            observer.deleted(about, _key(request, resource), uid)
        raise
    except (ApiError, TransportError, asyncio.CancelledError) as failure:
        if _leaves_open(failure):
            observer.lost(about)
        raise
    if request.verb == "deletecollection":
        observer.lost(about)
        return answer
    if answer.kind in (resource.kind, "PartialObjectMetadata") and answer.resource_version:
        observer.wrote(about, answer, request.verb)
    if request.verb == "delete":
        is_status = answer.kind == "Status"
        known = (answer.get("details") or {}).get("uid") if is_status else answer.uid
        if known:
            observer.deleted(about, _key(request, resource), str(known))
    return answer


def _leaves_open(failure: BaseException) -> bool:
    """Whether the server may have carried out a write that failed so. An object that exists already
    is one that the writer did not know of: what it knows is behind."""
    if isinstance(failure, ApiError):
        return failure.code >= 500 or isinstance(failure, AlreadyExists | Timeout)
    return not isinstance(failure, ConnectFailed | NotPermitted)


def _uid_to_delete(request: RestRequest) -> str:
    """Of the object that a deletion was about, if it was about one only."""
    if request.verb != "delete":
        return ""
    return str((json.decode(request.body or b"{}").get("preconditions") or {}).get("uid") or "")


def _key(request: RestRequest, resource: ApiResource) -> str:
    """Of the object at the end of the path."""
    parts = request.path.split("/")
    return f"{parts[-3]}/{parts[-1]}" if resource.namespaced else parts[-1]
