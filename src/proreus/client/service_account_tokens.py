"""Tokens of service accounts, asked for as kubelets do."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.client.resources.resource_client import ResourceClient


async def request_token(accounts: ResourceClient, account: str, spec: Json) -> KubeObject:
    """The TokenRequest as it is answered: its status has the token and when it expires.

    ``accounts`` are those of one namespace. Raises ``ApiError``, ``TransportError``.
    """
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": account},
        "spec": spec,
    }
    return await accounts.create(body, subresource="token")
