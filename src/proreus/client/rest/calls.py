"""What one list or one watch asks for, of whatever it lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCall:
    """``limit`` 0 asks for everything at once. With a continue token no version may be given."""

    resource_version: str = ""
    limit: int = 0
    continue_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchCall:
    """``send_initial_events``: it begins with the whole collection, not older than the version."""

    resource_version: str
    timeout_s: int
    send_initial_events: bool = False
    allow_bookmarks: bool = True
