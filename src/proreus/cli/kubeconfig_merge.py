"""Puts one kubeconfig into another. Pure, but for ``merge_into``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from proreus.api.json_types import Json
from proreus.api.wire import yaml
from proreus.client.client_config import ConfigError
from proreus.client.config.kubeconfig import read_kubeconfig
from proreus.lazy_dataclass import dataclass
from proreus.net.private_files import write_private

_ENTRIES = ("clusters", "users", "contexts")


@dataclass(frozen=True, slots=True)
class Merged:
    """``before``: the context that was current."""

    content: dict[str, Any]
    context: str
    before: str


def renamed(own: Json, name: str) -> Json:
    """The same kubeconfig with its one cluster, user and context called ``name``: an entry
    ``kubernetes-admin`` may be another cluster's."""
    (cluster,), (user,), (context,) = (own[entries] for entries in _ENTRIES)
    return {
        **own,
        "clusters": [{**cluster, "name": name}],
        "users": [{**user, "name": name}],
        "contexts": [
            {"name": name, "context": {**context["context"], "cluster": name, "user": name}}
        ],
        "current-context": name,
    }


def merged(own: Json, existing: Json) -> Merged:
    """``existing`` with the entries of ``own``, whose names win, and its current context."""
    content: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", **existing}
    for entries in _ENTRIES:
        added = {entry["name"]: entry for entry in own[entries]}
        kept = [one for one in content.get(entries) or () if one["name"] not in added]
        content[entries] = [*kept, *added.values()]
    before = str(content.get("current-context") or "")
    content["current-context"] = own["current-context"]
    return Merged(content, own["current-context"], before)


def merge_into(own: bytes, path: Path, name: str) -> Merged:
    """Raises ClickException; the file is as it was then."""
    try:
        if path.is_file():
            read_kubeconfig(path)
        existing = _read(path.read_bytes()) if path.is_file() else {}
        result = merged(renamed(_read(own), name), existing)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A link stays one: it is its target that is replaced.
        write_private(path.resolve(), yaml.encode(result.content))
    except ConfigError as error:
        raise click.ClickException(f"{error}; mend it, or name another file") from error
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from error
    return result


def _read(text: bytes) -> Json:
    content, _ = yaml.decode_strict(text)
    return content or {}
