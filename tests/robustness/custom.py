"""A custom kind, for requests that come from anybody."""

from __future__ import annotations

import json
from typing import Any

from proreus.server.app import ApiServer
from tests.custom.definitions import definition, version
from tests.robustness.wire import Answer, ask

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
JSON = [("Content-Type", "application/json")]
MERGE = [("Content-Type", "application/merge-patch+json")]
JSON_PATCH = [("Content-Type", "application/json-patch+json")]
APPLY = [("Content-Type", "application/apply-patch+yaml")]


async def define(server: ApiServer, **spec: Any) -> None:
    """Serve widgets whose spec has these properties."""
    created = await ask(
        server, "POST", DEFINITIONS, json.dumps(definition(version(spec=spec))).encode(), JSON
    )
    assert created.code == 201, created
    while (await ask(server, "GET", WIDGETS)).code != 200:
        pass


def widget(name: str, **spec: Any) -> bytes:
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}}
    return json.dumps({**obj, "spec": spec}, separators=(",", ":")).encode()


async def create(server: ApiServer, name: str, **spec: Any) -> Answer:
    return await ask(server, "POST", WIDGETS, widget(name, **spec), JSON)
