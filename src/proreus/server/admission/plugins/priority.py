"""Priority: copies into a pod what its priority class prescribes.

The classes marked as the cluster's default are kept up to date with the watch cache: nearly every
pod names none, and would have them searched.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from proreus.api.json_types import Json, JsonObject
from proreus.api.wire import splice
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import Refused, as_forbidden
from proreus.server.kinds.parts.pod_template.scheduling import SYSTEM_PRIORITIES
from proreus.server.registry.admission import DELETE, UPDATE, Attributes
from proreus.server.registry.collection import Collection
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

_MARKED = b'"globalDefault":true'
Class = dict[str, Any] | None
_DEFAULT_POLICY = "PreemptLowerPriority"
_UNREADABLE = "priority class is unreadable and no default"


def protect_system_classes(attributes: Attributes) -> None:
    """Raises Forbidden. Kubernetes' registry asks it, whatever the plugins; a delete of the whole
    collection it does not ask about."""
    if not attributes.is_of(DELETE, "scheduling.k8s.io", "priorityclasses"):
        return
    if attributes.name in SYSTEM_PRIORITIES:
        raise attributes.forbidden("this is a system priority class and cannot be deleted")


class Priority:
    def __init__(self, classes: Collection) -> None:
        self._classes = classes
        self._marked: dict[str, dict[str, Any]] = {}  # by key
        self._default: Class = None
        classes.cache.follow(CacheFollower(self._forget, self._put, self._remove, _UNREADABLE))

    def set_priority(self, attributes: Attributes) -> Awaitable[None] | None:
        """Of a pod that is created or updated."""
        assert attributes.obj is not None, "a write has an object"
        if attributes.operation == UPDATE:
            keep_priority(attributes.obj["spec"], (attributes.old or {}).get("spec") or {})
            return None
        spec: dict[str, Any] = attributes.obj.setdefault("spec", {})
        name = spec.get("priorityClassName")
        if name in SYSTEM_PRIORITIES:  # every cluster has these two
            _take(attributes, spec, {"value": SYSTEM_PRIORITIES[name]}, None)
            return None
        if name:
            return self._take_named(attributes, spec, name)
        if not self._classes.cache.is_ready:
            return self._take_default(attributes, spec)
        _take(attributes, spec, None, self._default)
        return None

    def check_default(self, attributes: Attributes) -> Awaitable[None] | None:
        """One class at most is the default one."""
        created = attributes.obj
        if created is None or not created.get("globalDefault"):
            return None

        def check(classes: lookup.Objects) -> None:
            present = _lowest_marked(classes)
            if present is None:
                return
            is_same = present["metadata"]["name"] == created["metadata"].get("name")
            if is_same and attributes.operation == UPDATE:
                return
            raise attributes.forbidden(
                f"PriorityClass {present['metadata']['name']} is already marked as default. "
                "Only one default can exist"
            )

        return lookup.with_each(check, self._classes, having=_MARKED)

    async def _take_default(self, attributes: Attributes, spec: dict[str, Any]) -> None:
        classes = await lookup.each(self._classes, having=_MARKED)
        _take(attributes, spec, None, _lowest_marked(classes))

    async def _take_named(self, attributes: Attributes, spec: dict[str, Any], name: str) -> None:
        _take(attributes, spec, await lookup.find(self._classes, name), None)

    # The marked classes, as the watch cache has them.

    def _forget(self) -> None:
        self._marked.clear()
        self._default = None

    def _put(self, found: CachedObject) -> None:
        self._marked.pop(found.key, None)
        if _MARKED in found.item:
            self._marked[found.key] = splice.decode_item(found.item)
        self._choose()

    def _remove(self, found: CachedObject) -> None:
        self._marked.pop(found.key, None)
        self._choose()

    def _choose(self) -> None:
        self._default = _lowest_marked([self._marked[key] for key in sorted(self._marked)])


def _take(attributes: Attributes, spec: JsonObject, named: Class, default: Class) -> None:
    with as_forbidden(attributes):
        take_priority(spec, named, default)


def _lowest_marked(classes: lookup.Objects) -> Class:
    """The cluster's default, of the classes that are marked so."""
    marked = [c for c in classes if c.get("globalDefault")]
    return min(marked, key=lambda c: int(c.get("value") or 0), default=None)


def keep_priority(spec: JsonObject, before: Json) -> None:
    """An update that leaves out what this plugin set does not mean to take it away."""
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]


def take_priority(spec: JsonObject, named: Json | None, default: Json | None) -> None:
    """Set priority and preemption policy of a new pod.

    ``named`` is the class of ``priorityClassName`` (None: there is no such class), ``default`` the
    class marked as the global default, used if the pod names none.
    """
    name = spec.get("priorityClassName") or ""
    if name and named is None:
        raise Refused(f"no PriorityClass with name {name} was found")
    chosen = named if name else default
    if chosen is not None and not name:
        spec["priorityClassName"] = chosen["metadata"]["name"]
    value = (chosen or {}).get("value") or 0
    policy = (chosen or {}).get("preemptionPolicy") or _DEFAULT_POLICY
    given = spec.get("priority")
    if given is not None and given != value:
        raise Refused(
            f"the integer value of priority ({given}) must not be provided in pod spec; priority "
            f"admission controller computed {value} from the given PriorityClass name"
        )
    wanted = spec.get("preemptionPolicy")
    if wanted is not None and wanted != policy:
        raise Refused(
            f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
    spec["priority"], spec["preemptionPolicy"] = value, policy
