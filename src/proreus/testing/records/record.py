"""A record as a file: JSON, one line each, readable by people and by ``jq``. Pure.

    {"proreus": "record", "version": 1, "title": …, "now": …, "revision": 195}
    {"key": "/registry/pods/default/a", "revision": 12, "value": "{…}"}      what was there
    {"key": …, "revision": 196, "value": null, "at": 1.5}                    writes, in order
    {"at": 1.5, "method": "PATCH", "path": …, "user_agent": …, "status": 200, …}   requests

A value is an object as it is stored; null: the key was deleted. Every write is an event to those
who watched. ``at`` is the server's clock in seconds, null where it is not known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.wire import json

_VERSION = 1


class RecordInvalid(ValueError):
    """The file is no record, or one of a newer version."""


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """One key after one write; ``value`` None: it was deleted."""

    key: str
    revision: int
    value: str | None
    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """``beginning``: what was stored at ``revision``; ``writes`` follow it. ``now``: the time of
    day when it was kept."""

    title: str
    now: float
    revision: int
    beginning: tuple[WrittenValue, ...]
    writes: tuple[WrittenValue, ...]
    requests: tuple[JsonObject, ...] = ()

    @property
    def last_revision(self) -> int:
        return self.writes[-1].revision if self.writes else self.revision

    def at(self, revision: int) -> Mapping[str, WrittenValue]:
        """What was stored then, by key."""
        found = {one.key: one for one in self.beginning}
        for write in self.writes[: bisect_right(self.writes, revision, key=_revision)]:
            if write.value is None:
                found.pop(write.key, None)
            else:
                found[write.key] = write
        return found

    def write_at(self, revision: int) -> WrittenValue | None:
        place = bisect_right(self.writes, revision, key=_revision) - 1
        found = self.writes[place] if place >= 0 else None
        return found if found is not None and found.revision == revision else None

    def lines(self) -> Iterator[bytes]:
        head = {"proreus": "record", "version": _VERSION, "title": self.title, "now": self.now}
        yield json.encode({**head, "revision": self.revision})
        for one in (*self.beginning, *self.writes):
            line = {"key": one.key, "revision": one.revision, "value": one.value}
            yield json.encode(line if one.at_s is None else {**line, "at": one.at_s})
        yield from map(json.encode, self.requests)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(self.lines()) + b"\n")


def load(path: Path) -> Record:
    """Raises RecordInvalid, OSError."""
    lines = path.read_bytes().splitlines()
    head = _decoded(lines[0] if lines else b"", path)
    if head.get("proreus") != "record":
        raise RecordInvalid(f"{path} is no record")
    if head.get("version") != _VERSION:
        raise RecordInvalid(f"{path} is a record of version {head.get('version')}, not {_VERSION}")
    revision = int(head["revision"])
    values: list[WrittenValue] = []
    requests: list[JsonObject] = []
    for line in lines[1:]:
        entry = _decoded(line, path)
        if "key" not in entry:
            requests.append(entry)
            continue
        values.append(
            WrittenValue(entry["key"], int(entry["revision"]), entry["value"], entry.get("at"))
        )
    return Record(
        str(head.get("title", "")),
        float(head["now"]),
        revision,
        tuple(one for one in values if one.revision <= revision),
        tuple(one for one in values if one.revision > revision),
        tuple(requests),
    )


def _decoded(line: bytes, path: Path) -> JsonObject:
    try:
        found: Any = json.decode(line)
    except json.JSONDecodeError as problem:
        raise RecordInvalid(f"{path} is no record: {problem}") from problem
    if not isinstance(found, dict):
        raise RecordInvalid(f"{path} is no record: a line is no object")
    return found


def _revision(write: WrittenValue) -> int:
    return write.revision
