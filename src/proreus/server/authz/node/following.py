"""Keeps the graph of nodes equal to the watch caches, change by change.

Cost: a change of a pod is a lookup. It is decoded once, when its node asks for the first time
after it was bound: what it refers to does not change from then on, but for ephemeral containers and
claims that are made for it. A pod with one of these is decoded again after each change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import structlog

from proreus.api.wire import splice
from proreus.server.authz.node.graph import (
    ATTACHMENT,
    CERTIFICATE_REQUEST,
    SLICE,
    VOLUME,
    NodeGraph,
)
from proreus.server.authz.node.references import (
    POD,
    NodeReference,
    pod_references,
    volume_secrets,
)
from proreus.server.registry.collections import Collections
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.cache_follower import UNREADABLE, CacheFollower
from proreus.server.watch_cache.object import CachedObject

_NODE = "spec.nodeName"
# What of a bound pod may name further objects later.
_GROWING = (
    b'"ephemeralContainers":',
    b'"resourceClaimStatuses":',
    b'"extendedResourceClaimStatus":',
)
_UNREADABLE = "object is unreadable and related to no node"
_log = structlog.get_logger(__name__)


def followed_graph(collections: Collections) -> NodeGraph:
    """It has what the caches have, from the first load on."""
    graph = NodeGraph(partial(_read_pod, collections.named("", "v1", "pods").cache))
    followers = (
        ("", "pods", POD, _put_pod, _remove_pod),
        ("", "persistentvolumes", VOLUME, _put_volume, _remove_volume),
        ("storage.k8s.io", "volumeattachments", ATTACHMENT, *_owned(ATTACHMENT)),
        ("resource.k8s.io", "resourceslices", SLICE, *_owned(SLICE)),
        (
            "certificates.k8s.io",
            "podcertificaterequests",
            CERTIFICATE_REQUEST,
            *_owned(CERTIFICATE_REQUEST),
        ),
    )
    for group, plural, kind, put, remove in followers:
        cache = collections.named(group, "v1", plural).cache
        clear = partial(graph.clear, kind)
        cache.follow(CacheFollower(clear, partial(put, graph), partial(remove, graph), _UNREADABLE))
    return graph


_Change = Callable[[NodeGraph, CachedObject], None]


def _put_pod(graph: NodeGraph, found: CachedObject) -> None:
    node = found.fields.get(_NODE)
    if not node:
        return
    pod = NodeReference(POD, found.namespace, found.name)
    if not graph.has_pod(pod) or any(field in found.item for field in _GROWING):
        graph.put_pod(pod, node)


def _remove_pod(graph: NodeGraph, found: CachedObject) -> None:
    graph.remove_pod(NodeReference(POD, found.namespace, found.name))


def _read_pod(cache: WatchCache, pod: NodeReference) -> set[NodeReference] | None:
    found = cache.peek(f"{pod.namespace}/{pod.name}")
    if found is None:
        return None  # the cache is being loaded anew
    try:
        return pod_references(pod.namespace, splice.decode_item(found.item))
    except UNREADABLE as why:
        _log.error("pod is unreadable and needs nothing", key=found.key, why=why)
        return set()


def _put_volume(graph: NodeGraph, found: CachedObject) -> None:
    volume = splice.decode_item(found.item)
    claim = (volume.get("spec") or {}).get("claimRef")
    bound = (claim.get("namespace") or "", claim.get("name") or "") if claim else None
    graph.put_volume(found.name, bound, volume_secrets(volume))


def _remove_volume(graph: NodeGraph, found: CachedObject) -> None:
    graph.remove_volume(found.name)


def _owned(kind: str) -> tuple[_Change, _Change]:
    """Objects that say themselves which node they are for."""

    def put(graph: NodeGraph, found: CachedObject) -> None:
        spec = splice.decode_item(found.item).get("spec") or {}
        reference = NodeReference(kind, found.namespace, found.name)
        graph.put_owned(reference, spec.get("nodeName") or "")

    def remove(graph: NodeGraph, found: CachedObject) -> None:
        graph.remove_owned(NodeReference(kind, found.namespace, found.name))

    return put, remove
