"""Keep what a server in memory has been through: its store's history and its requests."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

from proreus.api.json_types import JsonObject
from proreus.server.storage.interface import Change, StoredValue
from proreus.testing.records.record import Record, WrittenValue
from proreus.testing.requests import RecordedRequest
from proreus.testing.server import RunningServer

_BODY_MAX = 64 * 1024


async def keep(server: RunningServer, path: Path, *, since: int = 0, title: str = "") -> Record:
    """Write the record of all that happened after revision ``since``, as far as the store still
    knows it. Raises ValueError if the storage is not in memory."""
    stored = (await server.checkpoint()).stored
    revision = max(since, stored.compacted)
    changes = [one for one in stored.history if one.revision > revision]
    live = {key: stored.values[at] for key, at in stored.index.live_items()}
    record = Record(
        title,
        server.clock.now(),
        revision,
        _before(live, changes),
        tuple(_times(changes, list(server.requests))),
        tuple(_described(asked) for asked in server.requests),
    )
    record.save(path)
    return record


def _before(live: dict[str, StoredValue], changes: list[Change]) -> tuple[WrittenValue, ...]:
    """What is stored now, with the changes undone."""
    for change in reversed(changes):
        if change.old is None:
            live.pop(change.key, None)
        else:
            live[change.key] = change.old
    found = sorted(live.values(), key=lambda one: one.revision)
    return tuple(WrittenValue(one.key, one.revision, one.value.decode()) for one in found)


def _times(changes: list[Change], requests: list[RecordedRequest]) -> list[WrittenValue]:
    """A write's time is that of the first request that was answered after it."""
    answered = sorted(
        (one.revision_after, one.at_s) for one in requests if one.is_write and one.is_over
    )
    found = []
    for change in changes:
        place = bisect_left(answered, (change.revision, float("-inf")))
        at_s = answered[place][1] if place < len(answered) else None
        value = change.new.value.decode() if change.new is not None else None
        found.append(WrittenValue(change.key, change.revision, value, at_s))
    return found


def _described(asked: RecordedRequest) -> JsonObject:
    target = f"{asked.path}?{asked.query}" if asked.query else asked.path
    return {
        "at": asked.at_s,
        "user_agent": asked.user_agent,
        "user": asked.user,
        "method": asked.method,
        "path": target,
        "status": asked.status,
        "reason": asked.reason,
        "revision_before": asked.revision_before,
        "revision_after": asked.revision_after,
        "events_sent": asked.events_sent,
        "body": bytes(asked.body[:_BODY_MAX]).decode("utf-8", "replace"),
    }
