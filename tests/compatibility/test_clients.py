"""Other people's Python clients work against the server, unchanged."""

from __future__ import annotations

import asyncio
import gc
import ssl
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.running_server import RunningServer

# Other people's clients do not always close what they opened.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(autouse=True)
def _collect_what_they_left() -> Iterator[None]:
    yield
    gc.collect()


def config_map(name: str, **entries: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": entries,
    }


def test_the_official_client_lists_watches_and_patches(
    server: RunningServer, namespace: str
) -> None:
    from kubernetes import client, config, watch

    api_client = config.new_client_from_config(str(server.kubeconfig))
    core = client.CoreV1Api(api_client)
    core.create_namespaced_config_map(namespace, config_map("a", k="1"))

    listed = core.list_namespaced_config_map(namespace)
    assert [item.metadata.name for item in listed.items] == ["a"]

    core.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
    core.delete_namespaced_config_map("a", namespace)
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=listed.metadata.resource_version,
        timeout_seconds=1,
    )
    seen = [(event["type"], event["object"].data) for event in stream]
    assert seen == [("MODIFIED", {"k": "2"}), ("DELETED", {"k": "2"})]
    api_client.close()


def test_the_official_dynamic_client_finds_resources_and_applies(
    server: RunningServer, namespace: str, tmp_path: Path
) -> None:
    from kubernetes import config, dynamic

    api_client = config.new_client_from_config(str(server.kubeconfig))
    found = dynamic.DynamicClient(api_client, cache_file=str(tmp_path / "discovery"))
    config_maps = found.resources.get(api_version="v1", kind="ConfigMap")

    config_maps.server_side_apply(
        body=config_map("a", k="1"), name="a", namespace=namespace, field_manager="test"
    )

    assert config_maps.get(name="a", namespace=namespace).data.k == "1"
    api_client.close()


def test_the_official_informer_follows_changes(server: RunningServer, namespace: str) -> None:
    from kubernetes import client, config
    from kubernetes.informer import ADDED, DELETED, SharedInformer

    api_client = config.new_client_from_config(str(server.kubeconfig))
    core = client.CoreV1Api(api_client)
    core.create_namespaced_config_map(namespace, config_map("a"))
    added, deleted = threading.Event(), threading.Event()
    informer = SharedInformer(list_func=core.list_namespaced_config_map, namespace=namespace)
    informer.add_event_handler(ADDED, lambda _: added.set())
    informer.add_event_handler(DELETED, lambda _: deleted.set())
    informer.start()
    try:
        assert added.wait(60)
        core.delete_namespaced_config_map("a", namespace)
        assert deleted.wait(60)
    finally:
        informer.stop()
        api_client.close()


async def test_kubernetes_asyncio_lists_and_watches(server: RunningServer, namespace: str) -> None:
    from kubernetes_asyncio import client, config, watch

    configuration = client.Configuration()
    await config.load_kube_config(str(server.kubeconfig), client_configuration=configuration)
    async with client.ApiClient(configuration) as api_client:
        core = client.CoreV1Api(api_client)
        await core.create_namespaced_config_map(namespace, config_map("a"))
        seen = []
        async with watch.Watch() as stream:
            async for event in stream.stream(
                core.list_namespaced_config_map, namespace, timeout_seconds=1
            ):
                seen.append((event["type"], event["object"].metadata.name))

    assert seen == [("ADDED", "a")]


@pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")  # newer than it knows
async def test_kr8s_creates_patches_and_deletes(server: RunningServer, namespace: str) -> None:
    import kr8s
    from kr8s.asyncio.objects import ConfigMap

    api = await kr8s.asyncio.api(kubeconfig=str(server.kubeconfig), namespace=namespace)
    made = await ConfigMap(config_map("a", k="1"), namespace=namespace, api=api)
    await made.create()
    await made.patch({"data": {"k": "2"}})

    found = [item.raw["data"] async for item in api.get("configmaps", namespace=namespace)]
    assert found == [{"k": "2"}]

    await made.delete()
    assert not await made.exists()
    assert api._session is not None
    await api._session.aclose()  # it has no way of its own to close its connections


def test_lightkube_applies_and_lists(server: RunningServer, namespace: str) -> None:
    from lightkube import Client, KubeConfig
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.core_v1 import ConfigMap

    client = Client(config=KubeConfig.from_file(str(server.kubeconfig)), field_manager="test")
    client.apply(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data={"k": "1"}))

    assert [item.metadata.name for item in client.list(ConfigMap, namespace=namespace)] == ["a"]


OPERATOR = textwrap.dedent(
    """
    import kopf

    @kopf.on.create("configmaps", labels={"watched": "yes"})
    def made(name, patch, **_):
        patch.setdefault("data", {})["seen"] = name

    @kopf.on.startup()
    def quiet(settings, **_):
        settings.posting.enabled = False
        settings.persistence.finalizer = "tests.example.com/kopf"
    """
)


async def test_kopf_runs_an_operator_on_config_maps(
    server: RunningServer, namespace: str, tmp_path: Path
) -> None:
    from kubernetes_asyncio import client, config, watch

    operator_file = tmp_path / "operator.py"
    operator_file.write_text(OPERATOR)
    operator = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "kopf", "run", "-q", "-n", namespace]
        + ["--standalone", str(operator_file)],
        env=server.environment,
    )
    try:
        configuration = client.Configuration()
        await config.load_kube_config(str(server.kubeconfig), client_configuration=configuration)
        async with client.ApiClient(configuration) as api_client:
            core = client.CoreV1Api(api_client)
            body = config_map("a", k="1")
            body["metadata"] = {"name": "a", "labels": {"watched": "yes"}}
            await core.create_namespaced_config_map(namespace, body)
            async with asyncio.timeout(60), watch.Watch() as stream:
                async for event in stream.stream(core.list_namespaced_config_map, namespace):
                    if (event["object"].data or {}).get("seen") == "a":
                        break
    finally:
        operator.terminate()
        assert operator.wait(60) == 0


async def test_a_plain_websocket_client_watches(server: RunningServer, namespace: str) -> None:
    import orjson
    from websockets.asyncio.client import connect

    url = server.url.replace("https", "wss")
    trust = ssl.create_default_context(cafile=str(server.ca_file))
    async with connect(
        f"{url}/api/v1/namespaces/{namespace}/configmaps?watch=true",
        ssl=trust,
        open_timeout=60,
        origin="http://localhost",  # type: ignore[arg-type]  # the library's NewType of str
        additional_headers={"Authorization": f"Bearer {server.token}"},
    ) as stream:
        done = await asyncio.create_subprocess_exec(
            *["kubectl", "-n", namespace, "create", "configmap", "a"],
            env=server.environment,
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert await done.wait() == 0
        event = orjson.loads(await asyncio.wait_for(stream.recv(), 60))

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


def test_a_wrong_token_is_refused_with_a_status(server: RunningServer) -> None:
    answer = httpx.get(
        f"{server.url}/api/v1/pods",
        headers={"Authorization": "Bearer wrong"},
        verify=ssl.create_default_context(cafile=str(server.ca_file)),
        timeout=60,
    )

    assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version"])
def test_health_and_version_need_no_token(server: RunningServer, path: str) -> None:
    trust = ssl.create_default_context(cafile=str(server.ca_file))

    give_up = time.monotonic() + 60
    while (code := httpx.get(f"{server.url}{path}", verify=trust, timeout=60).status_code) == 500:
        assert time.monotonic() < give_up, "its parts do their first work soon after the start"
    assert code == 200
