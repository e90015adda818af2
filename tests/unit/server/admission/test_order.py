"""The table of plugins: complete, in order, and asked about everything that changes or connects."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.server.admission import building
from proreus.server.admission.options import AdmissionOptions
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.registry.admission import Admission, Attributes
from proreus.server.registry.admission_step import AdmissionStep, PluginHalf
from tests.unit.server.registry.server_under_test import MERGE, Asking

POD: dict[str, Any] = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
NODE_PORT: dict[str, Any] = {"type": "NodePort", "ports": [{"port": 80}]}
WEB = {"metadata": {"name": "web"}, "spec": NODE_PORT}


class Recorder:
    """Admits and writes down; refuses the kinds in ``refused``."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str, str]] = []
        self.objects: list[Any] = []
        self.refused: set[str] = set()

    def admit(self, attributes: Attributes) -> None:
        place = "/".join(filter(None, (attributes.resource.plural, attributes.subresource)))
        self.seen.append((attributes.operation, place, attributes.kind.kind, attributes.name))
        self.objects.append((attributes.obj, attributes.old))
        if attributes.kind.kind in self.refused:
            raise attributes.forbidden("refused")


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder()
    last = Admission(
        validating=AdmissionStep("validate", [PluginHalf("Recorder", made.admit)], time.monotonic)
    )
    monkeypatch.setattr(building, "standard_admission", lambda *_: last)
    return made


@pytest_asyncio.fixture
async def ask(recorder: Recorder) -> AsyncIterator[Asking]:
    async with ApiServer() as server:
        yield Asking(server)


def test_node_restriction_comes_with_the_authorizer() -> None:
    chosen = AdmissionOptions(disable=("Priority",))

    assert "NodeRestriction" not in chosen.enabled(with_node_authorizer=False)
    assert "NodeRestriction" in chosen.enabled(with_node_authorizer=True)
    assert "Priority" not in chosen.enabled(with_node_authorizer=True)
    assert "NodeRestriction" in AdmissionOptions(enable=("NodeRestriction",)).enabled(
        with_node_authorizer=False
    )


async def test_a_disabled_plugin_does_nothing() -> None:
    options = AdmissionOptions(disable=("ServiceAccount", "Priority", "DefaultTolerationSeconds"))
    async with ApiServer(ServerConfig(admission=options)) as server:
        made = await Asking(server)("POST", "pods", POD)

    assert "priority" not in made.body["spec"]
    assert "tolerations" not in made.body["spec"]


async def test_what_is_bound_evicted_and_scaled_is_admitted_as_what_it_is(
    ask: Asking, recorder: Recorder
) -> None:
    await ask("POST", "pods", POD)
    controller = {
        "metadata": {"name": "r"},
        "spec": {"replicas": 1, "selector": {"a": "b"}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}},
    }  # fmt: skip
    await ask("POST", "replicationcontrollers", controller)
    recorder.seen.clear()

    await ask("POST", "pods/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
    await ask("PATCH", "replicationcontrollers/r/scale", {"spec": {"replicas": 3}}, kind=MERGE)
    scale, before = recorder.objects[-1]
    await ask("POST", "pods/p/eviction", {"metadata": {"name": "p"}})

    assert recorder.seen == [
        ("CREATE", "pods/binding", "Binding", "p"),
        ("UPDATE", "replicationcontrollers/scale", "Scale", "r"),
        ("CREATE", "pods/eviction", "Eviction", "p"),
    ]
    assert (scale["spec"]["replicas"], before["spec"]["replicas"]) == (3, 1)


async def test_connections_are_admitted_before_anything_is_asked_of_a_node(
    ask: Asking, recorder: Recorder
) -> None:
    recorder.refused = {"PodExecOptions", "PodPortForwardOptions", "ServiceProxyOptions"}

    exec_ = await ask("POST", "pods/p/exec?command=a&command=b&stdin=true&container=c")
    command, _ = recorder.objects[-1]
    forward = await ask("POST", "pods/p/portforward?ports=80")
    proxied = await ask("GET", "services/web:80/proxy/a/b?c=d")
    path, _ = recorder.objects[-1]

    assert [answer.status for answer in (exec_, forward, proxied)] == [403, 403, 403]
    assert command == {"kind": "PodExecOptions", "apiVersion": "v1", "stdin": True,
                       "container": "c", "command": ["a", "b"]}  # fmt: skip
    assert path == {"kind": "ServiceProxyOptions", "apiVersion": "v1", "path": "/a/b"}
    assert recorder.seen[-1] == ("CONNECT", "services/proxy", "ServiceProxyOptions", "web:80")


async def test_each_object_of_a_collection_is_admitted_when_it_is_deleted(
    ask: Asking, recorder: Recorder
) -> None:
    for name in ("a", "b"):
        await ask("POST", "configmaps", {"metadata": {"name": name}})
    recorder.seen.clear()

    await ask("DELETE", "configmaps")
    olds = [old["metadata"]["name"] for _, old in recorder.objects[-2:]]

    # The request names none of them.
    assert recorder.seen == [("DELETE", "configmaps", "ConfigMap", "")] * 2
    assert olds == ["a", "b"]


async def test_an_address_that_was_given_to_a_refused_service_is_free_again(
    ask: Asking, recorder: Recorder
) -> None:
    wanted = {**NODE_PORT, "clusterIP": "10.0.7.7", "ports": [{"port": 80, "nodePort": 30777}]}
    recorder.refused = {"Service"}
    refused = await ask("POST", "services", {**WEB, "spec": wanted})
    offered, _ = recorder.objects[-1]
    recorder.refused = set()

    other = await ask("POST", "services", {"metadata": {"name": "other"}, "spec": wanted})

    assert (refused.status, other.status) == (403, 201)
    assert offered["spec"]["clusterIP"] == "10.0.7.7"


async def test_a_service_keeps_its_address_when_another_of_its_name_is_refused(
    ask: Asking, recorder: Recorder
) -> None:
    made = await ask("POST", "services", WEB)
    spec = {**NODE_PORT, "clusterIP": made.body["spec"]["clusterIP"]}

    again = await ask("POST", "services", {"metadata": {"name": "web"}, "spec": spec})
    other = await ask("POST", "services", {"metadata": {"name": "other"}, "spec": spec})

    assert (made.status, again.status, other.status) == (201, 409, 422)
    assert "provided IP is already allocated" in other.body["message"]
