"""Objects that tests of the page look at."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]


def config_map(name: str, data: dict[str, str] | None = None, **labels: str) -> Manifest:
    return {"metadata": {"name": name, "labels": labels}, "data": data or {"greeting": "hello"}}


def pod(name: str, command: str = "sleep 3600") -> Manifest:
    # No start-up files of whoever runs the tests: a shell may wait in them for a lock.
    home = {"name": "HOME", "value": "/"}
    container = {"name": "main", "image": "any", "command": ["sh", "-c", command], "env": [home]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {"metadata": {"name": name}, "spec": spec}


def deployment(name: str, replicas: int, command: str = "sleep 3600") -> Manifest:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name, command)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}
