"""The server that tests of others are built on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from proreus.client import Client, NotFound
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock
from tests.custom.definitions import definition, untyped


async def test_a_client_reaches_it() -> None:
    async with running_server() as server, server.client() as client:
        made = await client.core_v1.configmaps("default").create(
            {"metadata": {"name": "a"}, "data": {"k": "v"}}
        )

    assert made["data"]["k"] == "v"


async def test_two_servers_in_one_process_are_two_worlds() -> None:
    async with (
        running_server() as one,
        running_server() as other,
        one.client() as here,
        other.client() as there,
    ):
        await here.core_v1.configmaps("default").create({"metadata": {"name": "a"}})

        with pytest.raises(NotFound):
            await there.core_v1.configmaps("default").get("a")


async def test_a_second_start_on_the_same_folder_finds_all_data(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path, tls=True)
    async with running_server(config) as first, first.client() as client:
        await client.core_v1.configmaps("default").create({"metadata": {"name": "a"}})
        token = first.token

    async with running_server(config) as second, second.client() as client:
        found = await client.core_v1.configmaps("default").get("a")

    assert found.name == "a"
    assert second.token == token


async def test_a_client_does_not_ask_for_versions_that_an_earlier_server_at_this_port_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_server() as server:
        remembering = replace(server.config(), disk_cache=True, cache_dir=tmp_path)
        async with Client(remembering) as client:
            definitions = client.resource("customresourcedefinitions.apiextensions.k8s.io")
            await definitions.create(definition(untyped("v1")))
            await definitions.wait_for("widgets.example.com", "condition=Established")
            await client.resource("widgets.example.com")("default").list()
            await definitions.delete("widgets.example.com")
            await definitions.wait_deleted("widgets.example.com")
            await definitions.create(definition(untyped("v2")))
            await definitions.wait_for("widgets.example.com", "condition=Established")

        monkeypatch.setenv("KUBECACHEDIR", str(tmp_path))
        async with server.client() as fresh:
            await fresh.resource("widgets.example.com")("default").list()


async def test_a_failure_in_the_body_comes_out_as_it_is() -> None:
    with pytest.raises(LookupError, match="mine"):
        async with running_server():
            raise LookupError("mine")


async def test_a_test_s_client_is_not_slowed_down() -> None:
    clock = VirtualClock()  # nobody advances it: a limit would never let go
    async with running_server(clock=clock) as server, server.client(clock=clock) as client:
        maps = client.core_v1.configmaps("default")
        for number in range(150):
            await maps.create({"metadata": {"name": f"m-{number}"}})

        assert len(await maps.list()) == 150


async def test_a_kubeconfig_that_nobody_could_use_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="a kubeconfig needs TLS"):
        ServerConfig(data_dir=tmp_path, kubeconfig=tmp_path / "kubeconfig")
