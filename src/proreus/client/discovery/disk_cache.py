"""Discovery documents on disk, in kubectl's place and layout, so that both profit from each other.

    <root>/discovery/<host>/servergroups.json
    <root>/discovery/<host>/<group>/<version>/serverresources.json     (core: <host>/v1/…)

A file is good for six hours by its time stamp. Whatever is missing, old or unreadable counts as
absent; failing to write is no failure. Nothing here is awaited: the files are small and local.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.wire import json
from proreus.client.discovery.documents import DiscoverySnapshot

GOOD_FOR_S = 6 * 3600.0
_FOLDER_MODE, _FILE_MODE = 0o750, 0o660


def cache_root(env: Mapping[str, str]) -> Path | None:
    """Where kubectl keeps its caches; None if there is no home to keep them in."""
    if named := env.get("KUBECACHEDIR"):
        return Path(named)
    home = env.get("HOME") or env.get("USERPROFILE")
    return Path(home) / ".kube" / "cache" if home else None


class DiskCache:
    """The cached discovery of one server."""

    def __init__(self, root: Path, host: str, clock: Clock) -> None:
        self._folder = root / "discovery" / host_folder(host)
        self._clock = clock

    def read(self) -> DiscoverySnapshot | None:
        """What was cached, None unless all of it is there and fresh."""
        groups = self._read("servergroups.json")
        if groups is None or not groups.get("groups"):
            return None
        resources: dict[GroupVersion, JsonObject] = {}
        for gv in DiscoverySnapshot(groups, {}).group_versions():
            document = self._read(_resources_file(gv))
            if document is None:
                return None
            resources[gv] = document
        return DiscoverySnapshot(groups, resources)

    def write(self, snapshot: DiscoverySnapshot) -> None:
        """Keep what was found; empty results are not worth remembering."""
        if not snapshot.groups.get("groups"):
            return
        try:
            for gv, document in snapshot.resources.items():
                if document.get("resources"):
                    self._write(_resources_file(gv), document)
            self._write("servergroups.json", snapshot.groups)
        except OSError:
            return  # a read-only home is common in containers

    def _read(self, name: str) -> JsonObject | None:
        path = self._folder / name
        try:
            if self._clock.now() > path.stat().st_mtime + GOOD_FOR_S:
                return None
            document = json.decode(path.read_bytes())
        except (OSError, json.JSONDecodeError):
            return None
        return document if isinstance(document, dict) else None

    def _write(self, name: str, document: JsonObject) -> None:
        path = self._folder / name
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        import tempfile  # it brings half of the compression libraries along

        # Written aside and renamed: a reader sees the old file or the new one, never half of one.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.encode(document))
            aside = Path(temporary)
            aside.chmod(_FILE_MODE)
            aside.replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def host_folder(host: str) -> str:
    """A server's address as a folder name: no scheme, odd characters as underscores."""
    return re.sub(r"[^(\w/.)]", "_", re.sub(r"^https?://", "", host))


def _resources_file(gv: GroupVersion) -> str:
    return str(Path(gv.group, gv.version, "serverresources.json"))
