"""Limit ranges of a namespace: defaults for its containers, bounds for its pods and claims."""

from __future__ import annotations

from typing import Any

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

    async def set_defaults(self, attributes: Attributes) -> None:
        if is_new(attributes, PODS) and (ranges := await self._ranges(attributes)):
            assert attributes.obj is not None
            limit_ranges.fill_containers(attributes.obj, ranges)

    async def check_bounds(self, attributes: Attributes) -> None:
        is_pod = is_new(attributes, PODS)
        if not is_pod and not is_new(attributes, _CLAIMS):
            return
        assert attributes.obj is not None
        if ranges := await self._ranges(attributes):
            check = limit_ranges.check_pod if is_pod else limit_ranges.check_claim
            with told_as_forbidden(attributes):
                check(attributes.obj, ranges)

    async def _ranges(self, attributes: Attributes) -> list[dict[str, Any]]:
        return list(await lookup.each(self._limit_ranges, attributes.namespace))
