"""A request as a value: built and checked without I/O, sent by ``rest.client``.

Every part of a path is refused here if it could lead elsewhere than it names (``..``, ``/``,
``%``), so that a name from a user cannot reach another resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import quote, urlencode

import msgspec

from proreus.api.group_version import GroupVersion

# A server sends bookmarks about every minute once its revision moves, so a longer silence of a
# watch means a dead connection, or a collection so quiet that resuming costs nothing.
SILENCE_MAX_S = 90.0
JSON = "application/json"
_SEGMENT_SAFE = "!$&'()*+,;=:@~"
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", re.ASCII).fullmatch

Query = tuple[tuple[str, str], ...]


class InvalidRequest(ValueError):
    """The request makes no sense; it was not sent."""


class RestRequest(msgspec.Struct, frozen=True):
    """``path`` is encoded and begins with a slash; ``verb`` is Kubernetes' word, for messages."""

    verb: str
    method: str
    path: str
    query: Query = ()
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    headers: Mapping[str, str] = MappingProxyType({})

    @property
    def target(self) -> str:
        """Path and query, as the request line carries them."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    def __repr__(self) -> str:
        return f"<{self.verb}: {self.method} {self.target}>"


def resource_path(
    group_version: GroupVersion,
    resource: str,
    *,
    namespace: str = "",
    name: str = "",
    subresource: str = "",
) -> str:
    """The path of a collection, an object or a part of one."""
    if subresource and not name:
        raise InvalidRequest(f"{resource}/{subresource}: a subresource needs a name")
    path = _collection_path(group_version, resource, namespace)
    if name:
        path = f"{path}/{path_segment(name, 'name')}"
    if subresource:
        parts = (path_segment(part, "subresource") for part in subresource.split("/"))
        path = f"{path}/{'/'.join(parts)}"
    return path


@lru_cache(maxsize=1024)
def _collection_path(group_version: GroupVersion, resource: str, namespace: str) -> str:
    """Remembered: a program has few of them, and asks for one at every request."""
    inside = f"namespaces/{path_segment(namespace, 'namespace')}/" if namespace else ""
    return f"{group_version.path}/{inside}{path_segment(resource.lower(), 'resource')}"


def path_segment(text: str, what: str) -> str:
    """One part of a path, encoded; refused if it could be read as more or other than one part."""
    if not text:
        raise InvalidRequest(f"the {what} is empty")
    if _PLAIN(text):
        return text  # nothing to encode, as in nearly every name
    if text in (".", "..") or "/" in text or "%" in text:
        raise InvalidRequest(f"the {what} {text!r} may not be '.' or '..' nor hold '/' or '%'")
    return quote(text, safe=_SEGMENT_SAFE)


def require_name(name: str) -> str:
    if not name:
        raise InvalidRequest("the name is empty")
    return name


def query(pairs: Iterable[tuple[str, str | int | bool | None]]) -> Query:
    """Parameters as text; what is None, empty or 0 is left out, as Kubernetes' clients do."""
    return tuple((key, _text(value)) for key, value in pairs if value)


def list_query(
    *,
    label_selector: str = "",
    field_selector: str = "",
    resource_version: str = "",
    resource_version_match: str = "",
    limit: int = 0,
    continue_token: str = "",
    timeout_s: int = 0,
) -> Query:
    return query(
        (
            ("labelSelector", label_selector),
            ("fieldSelector", field_selector),
            ("resourceVersion", resource_version),
            ("resourceVersionMatch", resource_version_match),
            ("limit", limit),
            ("continue", continue_token),
            ("timeoutSeconds", timeout_s),
        )
    )


def watch_query(
    selection: Query, *, allow_bookmarks: bool = True, send_initial_events: bool | None = None
) -> Query:
    """``selection`` is a ``list_query``; this makes it a watch."""
    initial = None if send_initial_events is None else _text(send_initial_events)
    return (
        *selection,
        *query(
            (
                ("watch", True),
                ("allowWatchBookmarks", allow_bookmarks),
                ("sendInitialEvents", initial),
            )
        ),
    )


def write_query(
    *,
    dry_run: bool = False,
    field_manager: str = "",
    field_validation: str = "",
    force: bool = False,
) -> Query:
    if not (dry_run or field_manager or field_validation or force):
        return ()
    return query(
        (
            ("dryRun", "All" if dry_run else ""),
            ("fieldManager", field_manager),
            ("fieldValidation", field_validation),
            ("force", force),
        )
    )


def _text(value: str | int | bool | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
