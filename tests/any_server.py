"""Tests of the client against a server that the suite did not start: ``pytest --kubeconfig FILE``.

With the option only the tests run that can: those whose fixtures ask for ``given_kubeconfig``. Each
has a namespace of its own, which is the client's, and is deleted afterwards. Roles are assumed to
be enforced; whoever the kubeconfig logs in must be an administrator.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from proreus.aio.clock import SystemClock
from proreus.client import AlreadyExists, Client, ClientConfig, load_config
from proreus.client.credentials import Credential, TlsIdentity
from proreus.testing.server import running_server

OPTION = "--kubeconfig"
FIXTURE = "given_kubeconfig"
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


@pytest.fixture(scope="session", name=FIXTURE)
def _given_kubeconfig(pytestconfig: pytest.Config) -> str:
    """Empty: tests run against a server of their own."""
    return str(pytestconfig.getoption(OPTION) or "")


def only_what_can(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what would start servers, or needs none."""
    if not config.getoption(OPTION):
        return
    others = [item for item in items if FIXTURE not in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in set(others)]


@asynccontextmanager
async def any_client(kubeconfig: str) -> AsyncIterator[Client]:
    """Of the server that was named, or of one in this process."""
    if kubeconfig:
        async with client_of(kubeconfig) as client:
            yield client
        return
    async with running_server() as server, server.client() as client:
        yield client


@asynccontextmanager
async def client_of(kubeconfig: str) -> AsyncIterator[Client]:
    """Its namespace is new, and gone afterwards."""
    async with Client.from_kubeconfig(kubeconfig) as admin:
        namespaces = admin.core_v1.namespaces
        made = await namespaces.create({"metadata": {"generateName": "proreus-test-"}})
        try:
            # Without it no pod is admitted; a server without controllers has nobody to make it.
            with suppress(AlreadyExists):
                account = {"metadata": {"name": "default"}}
                await admin.core_v1.serviceaccounts(made.name).create(account)
            own = replace(admin.config, namespace=made.name, rate_limit=None)
            async with Client(own) as client:
                yield client
        finally:
            await namespaces.delete(made.name)


def kubeconfig_in(namespace: str, original: str | Path, folder: Path) -> Path:
    """A copy whose context has this namespace, for programs."""
    config = yaml.safe_load(Path(original).read_text())
    for entry in (*config["clusters"], *(config.get("users") or ())):
        content = entry.get("cluster") or entry.get("user") or {}
        for name in _PATHS:
            if name in content:  # relative to where the original is
                content[name] = str(Path(original).parent / content[name])
    for entry in config["contexts"]:
        if entry["name"] == config["current-context"]:
            entry["context"]["namespace"] = namespace
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / "kubeconfig"
    copy.write_text(yaml.safe_dump(config))
    return copy


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server, for what stands between it and a client."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str | None = None

    @classmethod
    def of(cls, config: ClientConfig) -> Upstream:
        """With the client's certificate, if it has one: behind a proxy that ends TLS it can show
        none itself."""
        url = urlsplit(config.host)
        assert url.hostname is not None, config.host
        if url.scheme != "https":
            return cls(url.hostname, url.port or 80)
        tls = TlsIdentity(config.tls, SystemClock()).context(Credential())
        return cls(url.hostname, url.port or 443, tls, config.tls.server_name or url.hostname)

    @classmethod
    def named_in(cls, kubeconfig: str | Path) -> Upstream:
        return cls.of(load_config(kubeconfig))
