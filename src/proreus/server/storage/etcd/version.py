"""Which versions of etcd answer progress requests correctly.

Before 3.4.31 and 3.5.13 a progress answer may overtake events that are already on their way
(etcd issues 15220 and 17507). There a watch learns of progress from a marker key instead: see
``watch``.
"""

from __future__ import annotations

import re

_SAFE_PATCH = {(3, 4): 31, (3, 5): 13}


def is_progress_safe(version: str) -> bool:
    """Whether a progress answer never runs ahead of events; unknown versions are not trusted."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is None:
        return False
    major, minor, patch = map(int, found.groups())
    if (major, minor) in _SAFE_PATCH:
        return patch >= _SAFE_PATCH[major, minor]
    return (major, minor) > (3, 5)
