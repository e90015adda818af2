"""What a server stores after an update: the object with its managedFields."""

from __future__ import annotations

from typing import Any

from proreus.api.patch.apply import ANYWHERE, entries_after, ownership_update
from proreus.api.patch.ownership import Endpoint, without_owners
from proreus.api.typed import TypeNode


def track_update(
    live: dict[str, Any] | None,
    new: dict[str, Any],
    node: TypeNode | None,
    *,
    manager: str,
    now: float,
    api_version: str,
    subresource: str = "",
    endpoint: Endpoint = ANYWHERE,
) -> dict[str, Any]:
    """``new`` with managedFields, after a create (``live`` None), an update or a patch."""
    write = ownership_update(node, api_version, subresource, now, endpoint)
    entries = entries_after(live, new, write, manager)
    assert isinstance(entries, list), "there is but one version"
    tracked = without_owners(new)
    if entries:
        tracked["metadata"]["managedFields"] = entries
    return tracked
