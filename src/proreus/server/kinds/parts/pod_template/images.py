"""Image references."""

from __future__ import annotations

import re

_ID = re.compile(r"[a-f0-9]{64}").fullmatch  # of an image, which names no repository
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?").fullmatch
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REPOSITORY = re.compile(
    rf"(?P<path>{_PART}(?:/{_PART})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?",
    re.ASCII,
).fullmatch
_PATH_MAX = 255


def pull_policy(image: str) -> str:
    """Only an image that is pinned by a tag or a digest may be reused; what is no reference to an
    image counts as pinned."""
    host, slash, rest = image.partition("/")
    if not slash:
        parsed = None if _ID(image) else _REPOSITORY(f"library/{image}")
    elif host == "localhost" or host != host.lower() or "." in host or ":" in host:
        parsed = _REPOSITORY(rest) if _HOST(host) else None
    else:
        parsed = _REPOSITORY(image)
    if parsed is None or len(parsed["path"]) > _PATH_MAX:
        return "IfNotPresent"
    tag = parsed["tag"] or ("" if parsed["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"
