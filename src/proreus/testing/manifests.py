"""Objects from files: what a folder of manifests says, in the order in which it can be created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from proreus.client import Client

_SUFFIXES = (".yaml", ".yml", ".json")
_FIELD_MANAGER = "proreus-testing"
_ESTABLISHED_S = 60.0

Body = Mapping[str, Any]
Manifests = str | Path | Body | Iterable["str | Path | Body"]


class ManifestInvalid(ValueError):
    """A file, or an object in it, that is no manifest."""


def read_manifests(given: Manifests) -> list[Body]:
    """The objects of a file, of a folder (and those below it, in the order of their names), or of
    several; lists are taken apart. Definitions come first, then namespaces. Raises ManifestInvalid.
    """
    found = list(_objects(given))
    return sorted(found, key=_rank)


async def apply_manifests(client: Client, given: Manifests) -> int:
    """Apply them, and wait until the kinds that they define are served; how many there were."""
    bodies = read_manifests(given)
    definitions = [body for body in bodies if body["kind"] == "CustomResourceDefinition"]
    for body in definitions:
        await _apply(client, body)
    for body in definitions:
        await client.resource_of(body).wait_for(
            body["metadata"]["name"], "condition=Established", timeout_s=_ESTABLISHED_S
        )
    if definitions:
        client.discovery.invalidate()
    for body in bodies[len(definitions) :]:
        await _apply(client, body)
    return len(bodies)


async def _apply(client: Client, body: Body) -> None:
    await client.resource_of(body).apply(body, field_manager=_FIELD_MANAGER, force=True)


def _objects(given: Manifests) -> Iterable[Body]:
    if isinstance(given, Mapping):
        yield from _of_value(given, "an object")
    elif isinstance(given, str | Path):
        path = Path(given)
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file == path or (file.is_file() and file.suffix in _SUFFIXES):
                yield from _of_file(file)
    else:
        for one in given:
            yield from _objects(one)


def _of_file(file: Path) -> Iterable[Body]:
    try:
        for value in yaml.safe_load_all(file.read_text()):
            if value is not None:
                yield from _of_value(value, str(file))
    except (OSError, yaml.YAMLError) as why:
        raise ManifestInvalid(f"{file}: {why}") from why


def _of_value(value: Any, where: str) -> Iterable[Body]:
    is_object = isinstance(value, Mapping) and {"apiVersion", "kind"} <= value.keys()
    if not is_object:
        raise ManifestInvalid(f"{where}: an object without apiVersion and kind")
    if value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _of_value(item, where)
    elif not (value.get("metadata") or {}).get("name"):
        raise ManifestInvalid(f"{where}: a {value['kind']} without a name")
    else:
        yield value


def _rank(body: Body) -> int:
    return {"CustomResourceDefinition": 0, "Namespace": 1}.get(body["kind"], 2)
