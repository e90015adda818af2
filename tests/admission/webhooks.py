"""Webhooks that tests configure and listen to."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypedDict

from proreus.client import Client

Json = dict[str, Any]
GROUP = "admissionregistration.k8s.io"
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
CONFIG_MAPS = {
    "operations": ["*"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}


class Behaviour(TypedDict, total=False):
    """``response``: fields of the review's; ``raw``: a body instead of a review."""

    response: Json
    patch: list[Json]
    raw: str
    code: int
    location: str
    hold: bool
    cut: bool
    endless: int


class WebhookProcess:
    def __init__(self, port: int, authority: str) -> None:
        self.port = port
        self.authority = authority
        self._trust = ssl.create_default_context(cadata=authority)

    @property
    def ca_bundle(self) -> str:
        return base64.b64encode(self.authority.encode()).decode()

    def url(self, name: str) -> str:
        return f"https://127.0.0.1:{self.port}/{name}"

    def behave(self, name: str, behaviour: Behaviour) -> None:
        self._ask("PUT", name, json.dumps(behaviour).encode())

    def calls(self, name: str = "") -> list[Json]:
        """What was posted so far: to one webhook, or to all of them."""
        found: list[Json] = json.loads(self._ask("GET", "calls", None))
        return [call for call in found if not name or call["path"] == f"/{name}"]

    def requests(self, name: str = "") -> list[Json]:
        return [call["request"] for call in self.calls(name)]

    def hook(self, name: str, rule: Json | None = None, **more: Any) -> Json:
        """An entry of a configuration; its name is that of its behaviour."""
        return {
            "name": f"{name}.example.com",
            "clientConfig": {"url": self.url(name), "caBundle": self.ca_bundle},
            "rules": [rule or CONFIG_MAPS],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **more,
        }

    def _ask(self, method: str, path: str, body: bytes | None) -> bytes:
        request = urllib.request.Request(self.url(path), data=body, method=method)
        with urllib.request.urlopen(request, timeout=60, context=self._trust) as answer:
            found: bytes = answer.read()
            return found


@contextmanager
def webhook_process() -> Iterator[WebhookProcess]:
    command = [sys.executable, "-m", "tests.admission.webhook_program"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield WebhookProcess(**json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(60)


async def configure(client: Client, kind: str, *hooks: Json, name: str = "tests") -> None:
    """``kind``: Mutating or Validating. In force when this returns: caches follow in order."""
    body = {"metadata": {"name": name}, "webhooks": list(hooks)}
    await configurations(client, kind).create(body)


def configurations(client: Client, kind: str) -> Any:
    return client.resource(api_version=f"{GROUP}/v1", kind=f"{kind}WebhookConfiguration")


def config_map(name: str, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"key": "value"},
    }
