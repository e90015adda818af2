"""ListOptions → which objects of which state: the tables of server.md §2.5 and §2.8, in code.

Pure. Lists and watches share the selection; they differ in what a resourceVersion means.
"""

from __future__ import annotations

import random

from proreus.api.go_text import quoted
from proreus.api.selectors.fields import FieldSelector
from proreus.api.status import BadRequest, PlainError
from proreus.api.wire.continue_token import ContinueError, ContinueToken
from proreus.api.wire.options import EXACT, NOT_OLDER_THAN, ListOptions
from proreus.api.wire.query import RevisionError, parse_resource_version
from proreus.lazy_dataclass import dataclass
from proreus.server.resource import Resource
from proreus.server.watch_cache.query import (
    AnyState,
    Exact,
    Latest,
    ListQuery,
    NotOlderThan,
    Selection,
    State,
    WatchQuery,
    WatchState,
)

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_WATCH_TIMEOUT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Scope:
    """What the path names; "" means all."""

    namespace: str = ""
    name: str = ""


def known_fields(resource: Resource, selector: FieldSelector) -> FieldSelector:
    """The selector in the names the kind uses. Raises BadRequest for fields it does not have."""
    if selector.is_empty:
        return selector
    own = resource.selectable
    for requirement in selector.requirements:
        name = requirement.field
        if name == _NAME or name in own.names or name in own.aliases:
            continue
        if name == _NAMESPACE and own.by_namespace and (resource.namespaced or not own.own_table):
            continue
        raise BadRequest(_unknown_field(resource, name))
    return selector.renamed(own.aliases) if own.aliases else selector


def selection_of(resource: Resource, scope: Scope, options: ListOptions) -> Selection:
    fields = known_fields(resource, options.fields)
    pinned = fields.pinned(_NAME)
    name = scope.name or pinned or ""
    if scope.name and not fields.is_empty and pinned != scope.name:
        raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    namespace = scope.namespace
    if resource.namespaced and not namespace:
        namespace = fields.pinned(_NAMESPACE) or ""
    return Selection(namespace, name, options.labels, fields)


def list_query(
    resource: Resource, selection: Selection, scope: Scope, options: ListOptions
) -> ListQuery:
    """Raises BadRequest for a token or version that cannot be read, or for both together."""
    if options.continue_token:
        return _continued(selection, scope, options)
    try:
        revision = parse_resource_version(options.resource_version)
    except RevisionError as error:
        raise BadRequest(f"invalid resource version: {error}") from error
    limit = max(options.limit, 0)
    is_one = bool(selection.name and (selection.namespace or not resource.namespaced))
    state = _list_state(revision, options, is_exact=limit > 0 and not is_one)
    return ListQuery(selection, state, limit)


def next_token(scope: Scope, revision: int, next_start: str) -> str:
    """The token for the page after one that ended before ``next_start``."""
    if not next_start:
        return ""
    start = next_start.removeprefix(f"{scope.namespace}/") if scope.namespace else next_start
    return ContinueToken(revision, start).encode()


def restart_token(options: ListOptions) -> str:
    """The token that goes on in the newest state where an expired one stopped."""
    return ContinueToken.decode(options.continue_token).unpinned().encode()


def watch_query(selection: Selection, options: ListOptions, *, is_legacy: bool) -> WatchQuery:
    """``is_legacy``: requested through a watch/ path, which has no defaults of its own."""
    try:
        revision = parse_resource_version(options.resource_version)
    except RevisionError as error:
        raise PlainError(str(error)) from error
    timeout_s = float(options.timeout_seconds or 0)
    if not timeout_s:
        # Spread, so that watches begun together do not end together.
        timeout_s = _WATCH_TIMEOUT_S * (1 + random.random())
    wanted = options.send_initial_events
    if revision and not wanted:
        return WatchQuery(
            selection, after=revision, bookmarks=options.allow_watch_bookmarks, timeout_s=timeout_s
        )
    return WatchQuery(
        selection,
        state=_watch_state(revision, options, is_legacy=is_legacy),
        send_initial=wanted is not False,
        bookmarks=options.allow_watch_bookmarks,
        initial_events_end=wanted is True,
        timeout_s=timeout_s,
    )


def _continued(selection: Selection, scope: Scope, options: ListOptions) -> ListQuery:
    try:
        token = ContinueToken.decode(options.continue_token)
    except ContinueError as error:
        raise BadRequest(f"invalid continue token: {error}") from error
    if options.resource_version not in ("", "0"):
        raise BadRequest("specifying resource version is not allowed when using continue")
    start = f"{scope.namespace}/{token.start}" if scope.namespace else token.start
    state: State = Exact(token.revision) if token.is_pinned else Latest()
    return ListQuery(selection, state, max(options.limit, 0), start)


def _list_state(revision: int, options: ListOptions, *, is_exact: bool) -> State:
    if not revision:
        return AnyState() if options.resource_version else Latest()
    match options.resource_version_match:
        case x if x == EXACT:
            return Exact(revision)
        case x if x == NOT_OLDER_THAN:
            return NotOlderThan(revision)
        case _:
            return Exact(revision) if is_exact else NotOlderThan(revision)


def _watch_state(revision: int, options: ListOptions, *, is_legacy: bool) -> WatchState:
    if revision:
        return NotOlderThan(revision)
    return AnyState() if options.resource_version or is_legacy else Latest()


def _unknown_field(resource: Resource, name: str) -> str:
    own = resource.selectable
    if own.unknown_field:
        return own.unknown_field.format(name)
    if own.own_table:
        return f"field label not supported: {name}"
    known = '"metadata.name", "metadata.namespace"'
    return f"{quoted(name)} is not a known field selector: only {known}"
