"""Custom resources from classes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from proreus.client import (
    Conflict,
    Invalid,
    InvalidRequest,
    PrinterColumn,
    Rule,
    SchemaError,
    SharedInformerFactory,
    Typed,
    checked,
    custom_resource,
    definition_of,
    register,
)
from proreus.client.typed_schema import rules, schema_of
from proreus.testing.server import running_server
from tests.custom.operators import PATIENCE, PATIENCE_S
from tests.running_server import RunningServer


@dataclass
class Port:
    number: Annotated[int, checked(minimum=1, maximum=65535)]
    protocol: Literal["TCP", "UDP"] = "TCP"


@rules(Rule("self.ports.size() < 4", "too many ports"))
@dataclass
class ProxySpec:
    """What is wanted."""

    ports: Annotated[list[Port], checked(maxItems=10)]
    target_port: int | str = 80
    labels: dict[str, str] = field(default_factory=dict)
    extra: Any = None


@dataclass
class ProxyStatus:
    phase: str | None = None


@custom_resource(
    group="example.com", version="v1", columns=(PrinterColumn("Phase", ".status.phase"),)
)
@dataclass
class Proxy:
    spec: ProxySpec
    status: ProxyStatus | None = None


def test_a_class_becomes_a_structural_schema() -> None:
    schema = definition_of(Proxy).schema["properties"]["spec"]

    assert schema["required"] == ["ports"]
    assert schema["description"] == "What is wanted."
    assert schema["properties"]["targetPort"] == {
        "x-kubernetes-int-or-string": True,
        "default": 80,
    }
    assert schema["properties"]["ports"]["items"]["properties"]["protocol"] == {
        "type": "string",
        "enum": ["TCP", "UDP"],
        "default": "TCP",
    }
    assert definition_of(Proxy).name == "proxies.example.com"


def test_a_type_without_a_schema_is_refused_when_the_class_is_made() -> None:
    with pytest.raises(SchemaError, match="has no schema"):
        schema_of(object)


async def test_values_go_to_the_server_and_come_back() -> None:
    async with running_server() as server, server.client() as client:
        await register(client, Proxy)
        proxies = Typed(client, Proxy, "default")

        made = await proxies.create("a", Proxy(ProxySpec([Port(80)], labels={"a": "b"})))
        await proxies.set_status("a", ProxyStatus("Up"))
        with pytest.raises(Invalid, match=r"spec\.ports\[0\]\.number"):
            await proxies.create("b", Proxy(ProxySpec([Port(0)])))
        with pytest.raises(Invalid, match="too many ports"):
            await proxies.create("b", Proxy(ProxySpec([Port(n) for n in range(1, 5)])))
        await proxies.update(await proxies.get("a"), Proxy(ProxySpec([Port(81)])))
        with pytest.raises(Conflict):
            await proxies.update(made, Proxy(ProxySpec([Port(82)])))
        found = await proxies.list()

    assert made.value.spec == ProxySpec([Port(80)], labels={"a": "b"})
    assert [one.value.status for one in found] == [ProxyStatus("Up")]
    assert [one.value.spec.ports for one in found] == [[Port(81)]]


async def test_values_are_of_one_namespace_or_of_all_and_a_write_must_say_which() -> None:
    async with running_server() as server, server.client() as client:
        await register(client, Proxy)
        proxies = Typed(client, Proxy)
        await proxies.in_namespace("kube-public").create("a", Proxy(ProxySpec([Port(80)])))
        everywhere = proxies.in_all_namespaces()
        found = await everywhere.list()
        with pytest.raises(InvalidRequest, match="all namespaces"):
            await everywhere.create("b", Proxy(ProxySpec([Port(80)])))
        async with SharedInformerFactory(client) as informers:
            informer = everywhere.informer(informers)
            informers.start()
            await informers.wait_for_cache_sync()
            cached = informer.get("a", "kube-public")

        assert await proxies.list() == []
    assert [one.object.namespace for one in found] == ["kube-public"]
    assert cached.value.spec.ports == [Port(80)]


async def test_informers_have_values_too() -> None:
    async with running_server() as server, server.client() as client:
        await register(client, Proxy)
        proxies = Typed(client, Proxy, "default")
        await proxies.create("a", Proxy(ProxySpec([Port(80)])))
        async with SharedInformerFactory(client) as informers:
            informer = proxies.informer(informers)
            informers.start()
            await informers.wait_for_cache_sync()
            found = informer.list()

    assert [(one.name, one.value.spec.ports) for one in found] == [("a", [Port(80)])]


def test_the_example_operator_runs(
    separate_server: RunningServer, run_kubectl: Callable[..., str]
) -> None:
    example = Path(__file__).parents[2] / "examples" / "custom_operator.py"
    operator = subprocess.Popen(
        [sys.executable, str(example)],
        env=os.environ | separate_server.environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        run_kubectl("wait", "--for=create", "crd/databases.example.com", PATIENCE)
        run_kubectl("wait", "--for=condition=established", "crd/databases.example.com", PATIENCE)
        run_kubectl("create", "-f", "-", stdin=(
            '{"apiVersion": "example.com/v1", "kind": "Database", '
            '"metadata": {"name": "orders"}, "spec": {"engine": "postgres"}}'
        ))  # fmt: skip
        run_kubectl("wait", "db/orders", "--for=jsonpath={.status.phase}=Ready", PATIENCE)
        printed = run_kubectl(
            "get", "configmap", "orders-address", "-o", "jsonpath={.data.address}"
        )
    finally:
        operator.terminate()
        operator.wait(PATIENCE_S)
    assert printed == "postgres://orders.default"
