"""A server, and others behind it that serve further groups."""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from proreus.server.authn.options import AuthenticationOptions, RequestHeaderOptions
from proreus.server.config import ServerConfig
from proreus.server.registry.user import User
from proreus.testing.server import RunningServer, running_server
from tests.custom.definitions import definition, version

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
GROUP = "example.com"
NAME = f"v1.{GROUP}"
ROOT = f"/apis/{GROUP}/v1"
WIDGETS = f"{ROOT}/namespaces/default/widgets"
ANN, BOB = "ann-token", "bob-token"
_USERS = {
    ANN: User("ann", ("dev", "system:authenticated"), "uid-ann", {"example.com/Team": ("a b",)}),
    BOB: User("bob", ("system:authenticated",)),
}
WAIT_S = 60.0


@asynccontextmanager
async def front_server(folder: Path, **more: Any) -> AsyncIterator[RunningServer]:
    """The one that clients ask."""
    config = ServerConfig(
        data_dir=folder, tls=True, kubeconfig=folder / "kubeconfig", tokens=_USERS, **more
    )
    async with running_server(config) as running:
        yield running


@asynccontextmanager
async def aggregated_server(
    folder: Path, front: RunningServer, service: str = "widgets"
) -> AsyncIterator[RunningServer]:
    """A second server, which believes the first one who asks, and serves widgets. Users of the
    group dev may do all with them there."""
    files = front.api.credentials.tls
    assert files is not None
    proxies = RequestHeaderOptions(
        client_ca_file=files.front_proxy_authority.certificate,
        allowed_names=("front-proxy-client",),
        username_headers=("X-Remote-User",),
        uid_headers=("X-Remote-Uid",),
        group_headers=("X-Remote-Group",),
        extra_headers_prefix=("X-Remote-Extra-",),
    )
    config = ServerConfig(
        data_dir=folder,
        tls=True,
        advertise=(f"{service}.default.svc",),
        authentication=AuthenticationOptions(request_header=proxies),
    )
    async with running_server(config) as running:
        async with asking(running) as admin:
            rules = [{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]}]
            await made(
                admin,
                "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                {"metadata": {"name": "widgets"}, "rules": rules},
            )
            await made(
                admin,
                "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                {
                    "metadata": {"name": "widgets"},
                    "roleRef": {"kind": "ClusterRole", "name": "widgets", "apiGroup": RBAC},
                    "subjects": [{"kind": "Group", "name": "dev", "apiGroup": RBAC}],
                },
            )
            definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            served = definition(version(spec={"size": {"type": "integer"}}), shortNames=["wd"])
            await made(admin, definitions, served)
            await until(admin, ROOT, lambda answer: answer.status_code == 200)
        yield running


RBAC = "rbac.authorization.k8s.io"


@asynccontextmanager
async def asking(server: RunningServer, token: str = "") -> AsyncIterator[httpx.AsyncClient]:
    files = server.api.credentials.tls
    trust: ssl.SSLContext | bool = True
    if files is not None:
        trust = ssl.create_default_context(cafile=str(files.authority.certificate))
    headers = {"Authorization": f"Bearer {token or server.token}"}
    async with httpx.AsyncClient(
        base_url=server.url, verify=trust, headers=headers, timeout=WAIT_S
    ) as client:
        yield client


async def made(client: httpx.AsyncClient, path: str, obj: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(path, json=obj)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def until(
    client: httpx.AsyncClient, path: str, is_so: Callable[[httpx.Response], bool]
) -> httpx.Response:
    """The first answer of which it is so."""
    last: httpx.Response | None = None
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                last = await client.get(path)
                if is_so(last):
                    return last
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{path}: last {last and (last.status_code, last.text)}") from None


def condition(answer: httpx.Response) -> dict[str, Any]:
    """``Available`` of an APIService, {} if it has none."""
    conditions = (answer.json().get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == "Available"), {})


async def until_reason(client: httpx.AsyncClient, reason: str, name: str = NAME) -> dict[str, Any]:
    found = await until(
        client, f"{APISERVICES}/{name}", lambda answer: condition(answer).get("reason") == reason
    )
    return condition(found)


async def add_external(client: httpx.AsyncClient, name: str = "widgets") -> None:
    """A service that is this machine, at whatever port it is asked for."""
    spec = {"type": "ExternalName", "externalName": "localhost"}
    await made(client, SERVICES, {"metadata": {"name": name}, "spec": spec})


async def add_service(client: httpx.AsyncClient, name: str = "widgets") -> None:
    ports = [{"name": "https", "port": 443}]
    await made(client, SERVICES, {"metadata": {"name": name}, "spec": {"ports": ports}})


SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def endpoint_slice(address: str, port: int, name: str = "widgets") -> dict[str, Any]:
    return {
        "metadata": {"name": f"{name}-1", "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}],
        "ports": [{"name": "https", "port": port}],
    }


def machine_address() -> str:
    """Of this machine, and not of its loopback interface, which endpoints must not have."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but that of its loopback interface")
        return str(probe.getsockname()[0])


def api_service(
    authority: bytes | None,
    *,
    group: str = GROUP,
    service: str = "widgets",
    port: int = 443,
    **more: Any,
) -> dict[str, Any]:
    """``authority``: the certificate that the other server's must be of; None: any."""
    trust: dict[str, Any] = {"insecureSkipTLSVerify": True}
    if authority is not None:
        trust = {"caBundle": b64encode(authority).decode()}
    spec = {
        "group": group,
        "version": "v1",
        "groupPriorityMinimum": 2000,
        "versionPriority": 10,
        "service": {"namespace": "default", "name": service, "port": port},
        **trust,
        **more,
    }
    return {"metadata": {"name": f"v1.{group}"}, "spec": spec}


async def register(
    client: httpx.AsyncClient, backend: RunningServer, **more: Any
) -> dict[str, Any]:
    """Service and API service of a second server; until it is available."""
    await add_external(client)
    wanted = api_service(backend.api.credentials.authority, port=port_of(backend), **more)
    registered = await made(client, APISERVICES, wanted)
    await until_reason(client, "Passed")
    return registered


def port_of(server: RunningServer) -> int:
    return int(server.url.rpartition(":")[2])
