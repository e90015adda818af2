"""A policy's no as the Status a client sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from proreus.api.status import Forbidden
from proreus.server.registry.write import Attributes
from proreus.server.schema.policies import Refused


@contextmanager
def told_as_forbidden(attributes: Attributes) -> Iterator[None]:
    try:
        yield
    except Refused as why:
        resource = attributes.resource.group_resource
        raise Forbidden.of(resource, attributes.name, str(why)) from why
