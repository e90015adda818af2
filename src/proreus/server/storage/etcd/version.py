"""What versions of etcd can do: which answer progress requests correctly, which stream ranges.

Before 3.4.31 and 3.5.13 a progress answer may overtake events that are already on their way
(etcd issues 15220 and 17507). There a watch learns of progress from a marker key instead: see
``watch``.
"""

from __future__ import annotations

import re

_STREAMS_RANGES = (3, 7)
_SAFE_PATCH = {(3, 4): 31, (3, 5): 13}


def is_progress_safe(version: str) -> bool:
    """Whether a progress answer never runs ahead of events; unknown versions are not trusted."""
    if (numbers := _numbers(version)) is None:
        return False
    major, minor, patch = numbers
    if (major, minor) in _SAFE_PATCH:
        return patch >= _SAFE_PATCH[major, minor]
    return (major, minor) > (3, 5)


def streams_ranges(version: str) -> bool:
    """Whether a range can be read as a stream."""
    numbers = _numbers(version)
    return numbers is not None and numbers[:2] >= _STREAMS_RANGES


def _numbers(version: str) -> tuple[int, int, int] | None:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2]), int(found[3])) if found is not None else None
