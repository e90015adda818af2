"""The order in which a patched document is read: what is wrong with it is said in that order.

Kubernetes' library writes what a patch reached anew, with sorted keys. What it did not reach stays
as it was, and so do values of a JSON patch's operations. Made only where something is wrong.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def in_written_order(value: Any, live: Any, raw: Collection[int] = ()) -> Any:
    """``value`` with sorted keys, but for parts of ``live`` and those identified by ``raw``."""
    if value is live or id(value) in raw:
        return value
    if isinstance(value, dict):
        known = live if isinstance(live, dict) else {}
        return {key: in_written_order(value[key], known.get(key), raw) for key in sorted(value)}
    return (
        [in_written_order(item, None, raw) for item in value] if isinstance(value, list) else value
    )
