"""Which state a list or a watch is answered from: the tables of server.md §2.5 and §2.8."""

from __future__ import annotations

import pytest

from proreus.api.selectors.fields import FieldSelector
from proreus.api.status import BadRequest, PlainError
from proreus.api.wire.continue_token import ContinueToken
from proreus.api.wire.options import decode_list_options
from proreus.api.wire.query import parse_query
from proreus.server.kinds import builtin_resources
from proreus.server.registry.verbs.select import (
    Scope,
    known_fields,
    list_query,
    next_token,
    selection_of,
    watch_query,
)
from proreus.server.resource import Resource
from proreus.server.watch_cache.query import (
    AnyState,
    Exact,
    Latest,
    ListQuery,
    NotOlderThan,
    WatchQuery,
)

RESOURCES = {(r.group, r.plural): r for r in builtin_resources()}
PINNED = ContinueToken(9, "b\0").encode()
UNPINNED = ContinueToken(-1, "b\0").encode()


def resource(plural: str, group: str = "") -> Resource:
    return RESOURCES[group, plural]


def listed(query: str, namespace: str = "n") -> ListQuery:
    options = decode_list_options(parse_query(query)).defaulted()
    kind, scope = resource("configmaps"), Scope(namespace)
    return list_query(kind, selection_of(kind, scope, options), scope, options)


def watched(query: str, *, is_legacy: bool = False) -> WatchQuery:
    options = decode_list_options(parse_query(query)).defaulted()
    selection = selection_of(resource("configmaps"), Scope("n"), options)
    return watch_query(selection, options, is_legacy=is_legacy)


@pytest.mark.parametrize(
    ("query", "state", "limit"),
    [
        ("", Latest(), 0),
        ("limit=5", Latest(), 5),
        ("limit=-5", Latest(), 0),
        ("resourceVersion=0&limit=5", AnyState(), 5),
        ("resourceVersion=7", NotOlderThan(7), 0),
        ("resourceVersion=7&limit=5", Exact(7), 5),
        ("resourceVersion=7&limit=5&fieldSelector=metadata.name%3Dx", NotOlderThan(7), 5),
        ("resourceVersion=7&limit=5&resourceVersionMatch=NotOlderThan", NotOlderThan(7), 5),
        ("resourceVersion=7&resourceVersionMatch=Exact", Exact(7), 0),
        (f"continue={PINNED}", Exact(9), 0),
        (f"continue={PINNED}&resourceVersion=0&limit=2", Exact(9), 2),
        (f"continue={UNPINNED}", Latest(), 0),
    ],
)
def test_what_a_list_reads(query: str, state: object, limit: int) -> None:
    found = listed(query)

    assert (found.state, found.limit) == (state, limit)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("resourceVersion=abc", "invalid resource version"),
        ("continue=abc", "invalid continue token"),
        (f"continue={PINNED}&resourceVersion=5", "not allowed when using continue"),
        ("continue=abc&resourceVersion=x", "invalid continue token"),
    ],
)
def test_what_a_list_refuses(query: str, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        listed(query)


def test_a_token_is_relative_to_what_was_asked_for() -> None:
    assert listed(f"continue={PINNED}").start == "n/b\0"
    assert ContinueToken.decode(next_token(Scope("n"), 9, "n/b\0")) == ContinueToken(9, "b\0")
    assert ContinueToken.decode(next_token(Scope(), 9, "n/b\0")) == ContinueToken(9, "n/b\0")
    assert next_token(Scope(), 9, "") == ""


@pytest.mark.parametrize(
    ("query", "after", "state", "initial", "end"),
    [
        ("watch=1", None, Latest(), True, True),
        ("watch=1&resourceVersion=0", None, AnyState(), True, True),
        ("watch=1&resourceVersion=7", 7, Latest(), False, False),
        (
            "watch=1&resourceVersion=7&sendInitialEvents=1&resourceVersionMatch=NotOlderThan",
            None, NotOlderThan(7), True, True,
        ),
        (
            "watch=1&sendInitialEvents=0&resourceVersionMatch=NotOlderThan",
            None, Latest(), False, False,
        ),
        (
            "watch=1&resourceVersion=7&sendInitialEvents=0&resourceVersionMatch=NotOlderThan",
            7, Latest(), False, False,
        ),
    ],
)  # fmt: skip
def test_where_a_watch_begins(
    query: str, after: int | None, state: object, initial: bool, end: bool
) -> None:
    found = watched(query)

    assert (found.after, found.state) == (after, state)
    assert (found.send_initial, found.initial_events_end) == (initial, end)


def test_the_old_watch_path_begins_with_any_state_and_has_no_end_mark() -> None:
    found = watched("", is_legacy=True)

    assert (found.state, found.send_initial, found.initial_events_end) == (AnyState(), True, False)


def test_a_watch_ends_when_asked_or_after_half_an_hour_to_an_hour() -> None:
    assert watched("watch=1&timeoutSeconds=5").timeout_s == 5
    assert watched("watch=1&timeoutSeconds=-5").timeout_s == -5
    assert 1800 <= (watched("watch=1").timeout_s or 0) < 3600


def test_a_bad_version_of_a_watch_is_the_error_kubernetes_forgot_to_map() -> None:
    with pytest.raises(PlainError, match=r"strconv\.ParseUint"):
        watched("watch=1&resourceVersion=x")


@pytest.mark.parametrize(
    ("plural", "group", "field", "words"),
    [
        ("configmaps", "", "data.x", '"data.x" is not a known field selector: only'),
        ("configmaps", "", 'a"\\', r'"a\"\\" is not a known field selector: only'),
        ("pods", "", "spec.x", "field label not supported: spec.x"),
        ("jobs", "batch", "status.x", 'field label "status.x" not supported for Job'),
        (
            "resourceslices", "resource.k8s.io", "spec.x",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x",
        ),
        ("nodes", "", "metadata.namespace", "field label not supported: metadata.namespace"),
        (
            "podcertificaterequests", "certificates.k8s.io", "metadata.namespace",
            "field label not supported: metadata.namespace",
        ),
    ],
)  # fmt: skip
def test_unknown_fields_are_refused_in_the_kinds_own_words(
    plural: str, group: str, field: str, words: str
) -> None:
    with pytest.raises(BadRequest, match="field") as refused:
        known_fields(resource(plural, group), FieldSelector.equal(field, "1"))

    assert str(refused.value).startswith(words)


def test_an_alias_is_called_by_its_name() -> None:
    found = known_fields(resource("pods"), FieldSelector.equal("spec.host", "n"))

    assert found == FieldSelector.equal("spec.nodeName", "n")


def test_a_name_in_all_namespaces_may_stand_for_several_objects() -> None:
    found = listed("resourceVersion=7&limit=5&fieldSelector=metadata.name%3Dx", namespace="")

    assert found.state == Exact(7)


def test_a_pinned_namespace_narrows_a_list_of_all() -> None:
    selector = "fieldSelector=metadata.namespace%3Dx%2Cmetadata.name%3Dy"

    found = listed(selector, namespace="").selection

    assert (found.namespace, found.name) == ("x", "y")
