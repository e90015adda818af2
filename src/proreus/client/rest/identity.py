"""How we present ourselves: user agent, field manager, impersonation headers."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from proreus.client.client_config import Impersonation

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}
_KEY_SAFE = "!#$&'*+.^`|~"  # what a header name may hold besides letters and digits


def program_name() -> str:
    """The name of the running program, as managed fields and logs show it."""
    name = PurePath(sys.argv[0]).name if sys.argv and sys.argv[0] else ""
    return name.removesuffix(".py").strip("_-") or "python"


def default_user_agent() -> str:
    own, machine = _own_version(), _machine()
    return f"{program_name()}/{own} ({sys.platform}/{machine}) proreus/{own}"


@lru_cache(maxsize=1)
def _own_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and to ask

    try:
        return version("proreus")
    except PackageNotFoundError:
        return "unknown"


@lru_cache(maxsize=1)
def _machine() -> str:
    import platform  # slow to import

    return _ARCHITECTURES.get(platform.machine(), platform.machine() or "unknown")


def impersonation_headers(who: Impersonation | None) -> dict[str, str | list[str]]:
    if who is None:
        return {}
    headers: dict[str, str | list[str]] = {"Impersonate-User": who.user}
    if who.uid:
        headers["Impersonate-Uid"] = who.uid
    if who.groups:
        headers["Impersonate-Group"] = list(who.groups)
    for key, values in who.extra.items():
        headers[f"Impersonate-Extra-{quote(key, safe=_KEY_SAFE)}"] = list(values)
    return headers
