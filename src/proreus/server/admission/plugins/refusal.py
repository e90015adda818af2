"""A policy's no as the Status a client sees."""

from __future__ import annotations

from types import TracebackType

from proreus.api.status import Forbidden
from proreus.server.registry.write import Attributes
from proreus.server.schema.policies import Refused


class told_as_forbidden:
    """Translate what a policy raises inside."""

    __slots__ = ("_attributes",)

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Refused):
            attributes = self._attributes
            resource = attributes.resource.group_resource
            raise Forbidden.of(resource, attributes.name, str(error)) from error
