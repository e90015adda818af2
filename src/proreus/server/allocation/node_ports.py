"""The node ports that one write of a service takes.

Ports of the service that have the same number (of TCP and of UDP, say) get the same node port when
the service is made, unless they ask for others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.status import InternalError, PlainError
from proreus.lazy_dataclass import dataclass
from proreus.server.allocation.claims import Taken
from proreus.server.kinds.core.service.defaults import (
    has_node_ports,
    needs_health_port,
    needs_node_ports,
)

NODE_PORTS = range(30000, 32768)
_TAKEN = "provided port is already allocated"
_OUT_OF_RANGE = (
    "provided port is not in the valid range. "
    f"The range of valid ports is {NODE_PORTS[0]}-{NODE_PORTS[-1]}"
)


@dataclass(slots=True)
class NodePorts:
    """``take`` raises Taken; ``take_any`` chooses."""

    take: Callable[[str], Awaitable[None]]
    take_any: Callable[[], Awaitable[str]]
    taken: set[int]

    async def give(self, spec: JsonObject, before: Json | None) -> FieldError | None:
        """The first port that cannot be had. ``before`` is None for a new service. Raises
        InternalError, PlainError."""
        if has_node_ports(spec):
            ports = [
                (index, port)
                for index, port in enumerate(spec.get("ports") or ())
                if port.get("nodePort") or needs_node_ports(spec)
            ]
            given = self._to_new(ports) if before is None else self._to_old(ports, before)
            if error := await given:
                return error
        had = before is not None and needs_health_port(before)
        if needs_health_port(spec) and not (had and spec.get("healthCheckNodePort")):
            await self._give_health_port(spec)
        return None

    async def _to_new(self, ports: list[tuple[int, JsonObject]]) -> FieldError | None:
        given_to: dict[int, int] = {}
        for index, port in ports:
            number, asked = port.get("port") or 0, port.get("nodePort") or 0
            if (shared := given_to.get(number)) is None:
                asked = next(
                    (
                        other["nodePort"]
                        for _, other in ports
                        if other.get("nodePort") and (other.get("port") or 0) == number
                    ),
                    0,
                )
                if asked and (why := await self._fault(asked)):
                    return _refused(index, asked, why)
                port["nodePort"] = given_to[number] = asked or int(await self.take_any())
            elif not asked:
                port["nodePort"] = shared
            elif asked != shared and (why := await self._fault(asked)):
                return _refused(index, asked, why)
        return None

    async def _to_old(self, ports: list[tuple[int, JsonObject]], before: Json) -> FieldError | None:
        self.taken.update(port.get("nodePort") or 0 for port in before.get("ports") or ())
        seen: set[tuple[str, int]] = set()
        for index, port in ports:
            asked = port.get("nodePort") or 0
            if not asked:
                port["nodePort"] = int(await self.take_any())
            elif asked not in self.taken and (why := await self._fault(asked)):
                return _refused(index, asked, why)
            key = (port.get("protocol") or "", port["nodePort"])
            if key in seen:
                raise PlainError(f"duplicate nodePort: {{{key[0]} {key[1]}}}")
            seen.add(key)
        return None

    async def _give_health_port(self, spec: JsonObject) -> None:
        """Raises InternalError."""
        if not (asked := spec.get("healthCheckNodePort")):
            spec["healthCheckNodePort"] = int(await self.take_any())
        elif why := await self._fault(asked):
            head = f"failed to allocate requested HealthCheck NodePort {asked}"
            raise InternalError.of(f"{head}: {why}")

    async def _fault(self, port: int) -> str:
        """Why a port could not be taken. Empty: it was."""
        if port not in NODE_PORTS:
            return _OUT_OF_RANGE
        if port in self.taken:
            return _TAKEN
        try:
            await self.take(str(port))
        except Taken:
            return _TAKEN
        self.taken.add(port)
        return ""


def _refused(index: int, port: int, why: str) -> FieldError:
    return field_error.invalid(f"spec.ports[{index}].nodePort", port, why)
