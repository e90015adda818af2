"""Every resource a server serves, custom ones too, and a client for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proreus.client.client import Client
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.discovery.mapper import RestMapper
from proreus.client.resources.resource_client import ResourceClient
from proreus.client.resources.scope import ResourceScope


@dataclass(frozen=True, slots=True)
class Discovered:
    """``resources``: each once, in its preferred version. ``failures``: group versions
    whose discovery failed, and why."""

    resources: tuple[ApiResource, ...]
    failures: tuple[str, ...]


async def discover(client: Client) -> Discovered:
    """From the server, past all caches."""
    found = await client.discovery.live.fetch()
    failures = tuple(f"{gv}: {why}" for gv, why in found.failures.items())
    return Discovered(tuple(RestMapper(found.api_resources()).preferred()), failures)


def with_verbs(resources: Iterable[ApiResource], *verbs: str) -> list[ApiResource]:
    return [one for one in resources if one.verbs.issuperset(verbs)]


def resource_client(client: Client, resource: ApiResource) -> ResourceClient:
    return ResourceClient(ResourceScope(client.rest, resource, str(resource)))
