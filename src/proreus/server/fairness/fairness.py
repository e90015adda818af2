"""What is in force: schemas in their order, levels with their seats, and the flow of a request.

Schemas and levels come from ``following``. The mandatory ones are there even if nobody stored them,
so that every request has a flow. ``run`` gives the levels their seats anew every ten seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.server.fairness.concurrency import Bounds, adjusted, bounds
from proreus.server.fairness.flow_schemas import FlowSchema, Requested, first_match, in_order
from proreus.server.fairness.priority_level import PriorityLevel
from proreus.server.fairness.queues import LevelSeats
from proreus.server.fairness.request_flow import RequestFlow, SchemaCounts, ServedLevel
from proreus.server.kinds.parts.flow_control import (
    LEVEL_KIND,
    MANDATORY,
    SCHEMA_KIND,
    bootstrap_objects,
)
from proreus.server.registry.user import User

_SEATS = 600  # of the whole server: kube-apiserver's 400 for reads and 200 for writes
_ADJUST_S = 10.0
# Flows that are remembered. What a client puts into a path may be long, and then is not.
_KNOWN_MAX = 4096
_KNOWN_CHARS_MAX = 300
_SCHEMA_HEADER = "X-Kubernetes-Pf-Flowschema-Uid"
_LEVEL_HEADER = "X-Kubernetes-Pf-Prioritylevel-Uid"


def _mandatory(kind: str) -> Iterator[JsonObject]:
    for obj in bootstrap_objects():
        if obj["kind"] == kind and obj["metadata"]["name"] in MANDATORY:
            yield obj


class Fairness:
    """See the module."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._mandatory_levels = {o.name: o for o in map(PriorityLevel.of, _mandatory(LEVEL_KIND))}
        self._mandatory_schemas = {o.name: o for o in map(FlowSchema.of, _mandatory(SCHEMA_KIND))}
        self._stored_schemas: dict[str, FlowSchema] = {}
        self._stored_levels: dict[str, PriorityLevel] = {}
        self._ordered: list[FlowSchema] = []
        self.levels: dict[str, ServedLevel] = {}
        self.counts: dict[tuple[str, str], SchemaCounts] = {}  # by schema and level
        self._flows: dict[tuple[str, tuple[str, ...], Requested], RequestFlow] = {}
        self._rebuild()

    def flow(self, user: User, asked: Requested) -> RequestFlow:
        key = (user.name, user.groups, asked)
        found = self._flows.get(key)
        if found is None:
            found = self._find(user, asked)
            if sum(map(len, asked)) <= _KNOWN_CHARS_MAX:
                if len(self._flows) >= _KNOWN_MAX:
                    self._flows.clear()
                self._flows[key] = found
        return found

    def set_schemas(self, schemas: Iterable[FlowSchema]) -> None:
        self._stored_schemas = {schema.name: schema for schema in schemas}
        self._rebuild()

    def set_levels(self, levels: Iterable[PriorityLevel]) -> None:
        self._stored_levels = {level.name: level for level in levels}
        self._rebuild()

    def has_level(self, name: str) -> bool:
        return name in self._stored_levels

    async def run(self) -> None:
        while True:
            await self._clock.sleep(_ADJUST_S)
            self.adjust()

    def adjust(self) -> None:
        """Lend what levels did not need to those that needed more."""
        demands = {name: level.seats.close_period() for name, level in self.levels.items()}
        for name, level in self.levels.items():
            seats = level.seats.limit or 1
            level.wanted = demands[name]
            level.demand.add(demands[name].highest / (level.bounds.nominal or 1))
            level.utilization.add(level.seats.in_use / seats)
        limits = {name: level.bounds for name, level in self.levels.items()}
        for name, seats in adjusted(limits, demands, _SEATS).items():
            self.levels[name].seats.resize(seats)

    def __iter__(self) -> Iterator[ServedLevel]:
        return iter(sorted(self.levels.values(), key=lambda level: level.config.name))

    def _rebuild(self) -> None:
        configs = self._mandatory_levels | self._stored_levels
        limits = bounds({name: config.shares for name, config in configs.items()}, _SEATS)
        self.levels = {name: self._level(config, limits[name]) for name, config in configs.items()}
        schemas = self._mandatory_schemas | self._stored_schemas
        self._ordered = [
            schema for schema in in_order(schemas.values()) if schema.level in self.levels
        ]
        self.counts = {
            (name, level): counts
            for (name, level), counts in self.counts.items()
            if name in schemas or counts.executing or counts.waiting
        }
        self._flows.clear()

    def _level(self, config: PriorityLevel, limits: Bounds) -> ServedLevel:
        """Requests of a level that is gone still have its seats, and give them back to it."""
        found = self.levels.get(config.name)
        if found is None:
            seats = LevelSeats(config.name, limits.nominal, config.queuing, self._clock.monotonic)
            return ServedLevel(config, seats, limits)
        if found.bounds != limits:
            found.seats.resize(limits.nominal)
        found.seats.configure(config.queuing)
        found.config, found.bounds = config, limits
        return found

    def _find(self, user: User, asked: Requested) -> RequestFlow:
        schema = first_match(self._ordered, user, asked) or self._ordered[-1]
        level = self.levels[schema.level]
        headers = ((_SCHEMA_HEADER, schema.uid), (_LEVEL_HEADER, level.config.uid))
        counts = self.counts.setdefault((schema.name, schema.level), SchemaCounts())
        name = schema.flow(user, asked.namespace)
        return RequestFlow(schema, level, name, counts, headers)

    def __repr__(self) -> str:
        return f"<Fairness of {len(self._ordered)} schemas, {len(self.levels)} levels>"
