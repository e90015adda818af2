"""Tests of the client against a server that the suite did not start: ``pytest --kubeconfig FILE``.

Each test gets a namespace of its own, which is the client's, and is deleted afterwards. Roles are
assumed to be enforced; whoever the kubeconfig logs in must be an administrator.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from proreus.client import Client
from proreus.testing.server import running_server

OPTION = "--kubeconfig"
_TIMEOUT_S = 60


def given_kubeconfig(config: pytest.Config) -> str:
    """Empty: tests run against a server in their own process."""
    return str(config.getoption(OPTION) or "")


@asynccontextmanager
async def any_client(config: pytest.Config) -> AsyncIterator[Client]:
    """Of the server that was named, or of one in this process."""
    if kubeconfig := given_kubeconfig(config):
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
            # Without it no pod is admitted.
            accounts = admin.core_v1.serviceaccounts(made.name)
            await accounts.wait_for("default", "create", timeout_s=_TIMEOUT_S)
            own = replace(admin.config, namespace=made.name, rate_limit=None)
            async with Client(own) as client:
                yield client
        finally:
            await namespaces.delete(made.name)
