"""Every resource a server has, custom ones too, and the way to each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proreus.client.client import Client
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.discovery.mapper import RestMapper
from proreus.client.resources.resource_client import ResourceClient
from proreus.client.resources.scope import Scope


@dataclass(frozen=True, slots=True)
class Discovered:
    """``resources``: each once, in its preferred version. ``failures``: what the server could not
    tell about, and why."""

    resources: tuple[ApiResource, ...]
    failures: tuple[str, ...]


async def discover(client: Client) -> Discovered:
    """Asks the server, whatever was known before."""
    found = await client.discovery.live.fetch()
    failures = tuple(f"{gv}: {why}" for gv, why in found.failures.items())
    return Discovered(tuple(RestMapper(found.api_resources()).preferred()), failures)


def with_verbs(resources: Iterable[ApiResource], *verbs: str) -> list[ApiResource]:
    return [one for one in resources if one.verbs.issuperset(verbs)]


def client_of(client: Client, resource: ApiResource) -> ResourceClient:
    return ResourceClient(Scope(client.rest, resource, str(resource)))
