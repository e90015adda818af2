"""Asking a server what it serves, in both generations of discovery, and remembering it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from proreus.api.group_version import GroupVersion
from proreus.api.status import Forbidden
from proreus.api.wire import json
from proreus.client.client_config import ClientConfig
from proreus.client.discovery.cache import CachedDiscovery
from proreus.client.discovery.disk_cache import DiskCache, cache_root, host_folder
from proreus.client.discovery.documents import (
    AGGREGATED,
    DiscoverySnapshot,
    from_aggregated,
    is_aggregated,
)
from proreus.client.discovery.mapper import UnknownResource
from proreus.client.rest.client import RestClient
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.scripted_server import Connection, Received, ScriptedServer, answer

CORE = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "versions": [
                {
                    "version": "v1",
                    "freshness": "Current",
                    "resources": [
                        {
                            "resource": "pods",
                            "responseKind": {"group": "", "version": "", "kind": "Pod"},
                            "scope": "Namespaced",
                            "singularResource": "pod",
                            "shortNames": ["po"],
                            "categories": ["all"],
                            "verbs": ["get", "list"],
                            "subresources": [
                                {
                                    "subresource": "eviction",
                                    "responseKind": {
                                        "group": "policy",
                                        "version": "v1",
                                        "kind": "Eviction",
                                    },
                                    "verbs": ["create"],
                                }
                            ],
                        },
                        {"resource": "ghosts", "scope": "Cluster", "verbs": []},
                    ],
                }
            ]
        }
    ],
}
WIDGETS: dict[str, Any] = {
    "metadata": {"name": "example.com"},
    "versions": [
        {"version": "v2", "freshness": "Stale"},
        {
            "version": "v1",
            "resources": [
                {
                    "resource": "widgets",
                    "responseKind": {"kind": "Widget"},
                    "scope": "Cluster",
                    "verbs": ["get"],
                }
            ],
        },
    ],
}
NAMED: dict[str, Any] = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        WIDGETS,
        {"metadata": {"name": "empty.example.com"}, "versions": []},
    ],
}
LEGACY: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": "example.com",
                "versions": [
                    {"groupVersion": "example.com/v2", "version": "v2"},
                    {"groupVersion": "example.com/v1", "version": "v1"},
                ],
                "preferredVersion": {"groupVersion": "example.com/v1", "version": "v1"},
            }
        ],
    },
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": True, "shortNames": ["po"]},
            {"name": "pods/log", "kind": "Pod", "namespaced": True},
        ],
    },
    "/apis/example.com/v1": {
        "kind": "APIResourceList",
        "groupVersion": "example.com/v1",
        "resources": [{"name": "widgets", "kind": "Widget", "namespaced": False}],
    },
}


class PathServer(ScriptedServer):
    """Answers by path; what is not there is a 503 without Retry-After."""

    def __init__(self, documents: Mapping[str, Any], aggregated: bool = False) -> None:
        super().__init__([self.step], repeats=True)
        self.documents = dict(documents)
        self.content_type = AGGREGATED if aggregated else "application/json"

    async def step(self, received: Received, connection: Connection) -> None:
        document = self.documents.get(received.path)
        if isinstance(document, dict):
            step = answer(200, document, self.content_type)
        else:
            step = answer(document or 503)
        await step(received, connection)


@contextlib.asynccontextmanager
async def discovery(
    server: PathServer, folder: Path, clock: VirtualClock | None = None
) -> AsyncIterator[CachedDiscovery]:
    async with server.running():
        config = ClientConfig(server.url, cache_dir=folder, rate_limit=None)
        async with RestClient(config, clock=clock or VirtualClock()) as rest:
            yield CachedDiscovery(rest)


def aggregated() -> PathServer:
    return PathServer({"/api": CORE, "/apis": NAMED}, aggregated=True)


async def test_an_aggregating_server_is_asked_twice(tmp_path: Path) -> None:
    server = PathServer({"/api": CORE, "/apis": {"items": []}}, aggregated=True)
    async with discovery(server, tmp_path) as found:
        pods = await found.find(lambda mapper: mapper.by_name("po"))

    assert [one.path for one in server.requests] == ["/api", "/apis"]
    assert server.requests[0].headers["accept"] == f"{AGGREGATED},application/json"
    assert (pods.kind, pods.namespaced, set(pods.subresources)) == ("Pod", True, {"eviction"})
    assert pods.verbs == {"get", "list"}


async def test_a_stale_version_is_a_failure_of_that_version_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with discovery(aggregated(), tmp_path) as found:
        widgets = await found.find(lambda mapper: mapper.by_name("widgets"))

    assert (widgets.version, widgets.namespaced) == ("v1", False)
    assert "discovery of example.com/v2 failed" in caplog.text


async def test_an_older_server_is_asked_for_every_version(tmp_path: Path) -> None:
    server = PathServer(LEGACY)
    async with discovery(server, tmp_path) as found:
        mapper = await found.mapper()

    assert mapper.by_name("po").subresources == {"log"}
    assert mapper.by_name("po").singular == "pod"
    assert mapper.by_name("widgets").version == "v1"
    # example.com/v2 did not answer, so everything was tried once more
    assert len([one for one in server.requests if one.path == "/api/v1"]) == 2


async def test_a_server_may_lack_the_core_group(tmp_path: Path) -> None:
    documents = {**LEGACY, "/api": 404, "/apis/example.com/v2": LEGACY["/apis/example.com/v1"]}
    async with discovery(PathServer(documents), tmp_path) as found:
        assert (await found.mapper()).by_name("widgets").group == "example.com"


async def test_a_refusal_surfaces_as_itself(tmp_path: Path) -> None:
    async with discovery(PathServer({"/api": 403, "/apis": 403}), tmp_path) as found:
        with pytest.raises(Forbidden):
            await found.mapper()


async def test_what_was_found_is_kept_where_kubectl_keeps_it(tmp_path: Path) -> None:
    server = PathServer({"/api": CORE, "/apis": {"items": []}}, aggregated=True)
    async with discovery(server, tmp_path, _wall_clock()) as found:
        await found.mapper()
        again = CachedDiscovery(found.live._rest)
        pods = (await again.mapper()).by_name("pods")

    folder = tmp_path / "discovery" / host_folder(server.url)
    assert json.decode((folder / "v1" / "serverresources.json").read_bytes())["kind"] == (
        "APIResourceList"
    )
    assert (folder / "servergroups.json").stat().st_mode & 0o777 == 0o660
    assert pods.subresources == {"eviction"}
    assert len(server.requests) == 2


async def test_a_name_that_is_missing_is_looked_for_once_more_at_the_server(
    tmp_path: Path,
) -> None:
    server = PathServer({"/api": CORE, "/apis": {"items": []}}, aggregated=True)
    async with discovery(server, tmp_path, _wall_clock()) as found:
        await found.mapper()
        fresh = {**WIDGETS, "versions": WIDGETS["versions"][1:]}
        server.documents["/apis"] = {"items": [fresh]}

        widgets = await found.find(lambda mapper: mapper.by_name("widgets"))
        with pytest.raises(UnknownResource):
            await found.find(lambda mapper: mapper.by_name("nothing"))

    assert widgets.kind == "Widget"
    assert len(server.requests) == 6


async def test_forgetting_ignores_the_files_too(tmp_path: Path) -> None:
    server = PathServer({"/api": CORE, "/apis": {"items": []}}, aggregated=True)
    async with discovery(server, tmp_path, _wall_clock()) as found:
        await found.mapper()
        found.invalidate()
        await found.mapper()

    assert len(server.requests) == 4


def _wall_clock() -> VirtualClock:
    """Files get the real time, so the clock must be near it."""
    import time

    return VirtualClock(time.time())


def test_files_are_good_for_six_hours(tmp_path: Path) -> None:
    clock = _wall_clock()
    cache = DiskCache(tmp_path, "https://h:6443", clock)
    cache.write(from_aggregated(CORE, {}))

    assert cache.read() is not None
    clock._elapsed_s += 6 * 3600 + 60
    assert cache.read() is None


def test_broken_missing_and_empty_files_count_as_absent(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, "h", _wall_clock())
    cache.write(DiscoverySnapshot({"groups": []}, {}))
    assert cache.read() is None
    cache.write(from_aggregated(CORE, {}))
    (tmp_path / "discovery" / "h" / "v1" / "serverresources.json").write_text("{")
    assert cache.read() is None
    (tmp_path / "discovery" / "h" / "servergroups.json").write_text("[]")
    assert cache.read() is None


def test_a_file_in_the_way_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "discovery").write_text("")

    DiskCache(tmp_path, "h", _wall_clock()).write(from_aggregated(CORE, {}))


def test_the_place_is_kubectls() -> None:
    assert cache_root({"KUBECACHEDIR": "/k"}) == Path("/k")
    assert cache_root({"HOME": "/h"}) == Path("/h/.kube/cache")
    assert cache_root({}) is None
    assert host_folder("https://127.0.0.1:6443/a b") == "127.0.0.1_6443/a_b"


def test_the_answer_says_which_generation_it_is() -> None:
    assert is_aggregated(AGGREGATED)
    assert is_aggregated("application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io")
    assert not is_aggregated("application/json")
    assert not is_aggregated("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupList")


def test_versions_come_in_order_of_preference() -> None:
    snapshot = DiscoverySnapshot(LEGACY["/apis"], {})

    assert snapshot.group_versions() == [
        GroupVersion("example.com", "v1"),
        GroupVersion("example.com", "v2"),
    ]
