"""Limit ranges of a namespace: defaults for its containers, bounds for its pods and claims."""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api.group_version import GroupResource
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.pod_classes import PODS, is_new
from proreus.server.admission.plugins.refusal import told_as_forbidden
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import Attributes
from proreus.server.schema.policies import limit_ranges

_CLAIMS = GroupResource("", "persistentvolumeclaims")


class LimitRanger:
    def __init__(self, limit_ranges: Collection) -> None:
        self._limit_ranges = limit_ranges

    def _has_none(self, namespace: str) -> bool:
        """Most namespaces are without limits; False says nothing."""
        return self._limit_ranges.cache.peek_all(namespace) == []

    def set_defaults(self, attributes: Attributes) -> Awaitable[None] | None:
        if not is_new(attributes, PODS) or self._has_none(attributes.namespace):
            return None

        def fill(ranges: lookup.Objects) -> None:
            assert attributes.obj is not None
            if ranges:
                limit_ranges.fill_containers(attributes.obj, ranges)

        return lookup.with_each(fill, self._limit_ranges, attributes.namespace)

    def check_bounds(self, attributes: Attributes) -> Awaitable[None] | None:
        is_pod = is_new(attributes, PODS)
        if not is_pod and not is_new(attributes, _CLAIMS):
            return None
        if self._has_none(attributes.namespace):
            return None

        def check(ranges: lookup.Objects) -> None:
            assert attributes.obj is not None
            if ranges:
                judge = limit_ranges.check_pod if is_pod else limit_ranges.check_claim
                with told_as_forbidden(attributes):
                    judge(attributes.obj, ranges)

        return lookup.with_each(check, self._limit_ranges, attributes.namespace)
