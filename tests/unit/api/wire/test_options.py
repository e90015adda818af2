"""Options of requests ⇄ query strings (server.md §2.1-§2.4, §6)."""

from __future__ import annotations

import pytest

from proreus.api.status import BadRequest
from proreus.api.wire.options import (
    DeleteOptions,
    ListOptions,
    WriteOptions,
    decode_delete_options,
    decode_list_options,
    decode_write_options,
    delete_options_from_body,
)
from proreus.api.wire.query import (
    RevisionError,
    boolean,
    integer,
    parse_query,
    parse_resource_version,
)


def listed(query: str) -> ListOptions:
    return decode_list_options(parse_query(query)).defaulted()


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", False), ("watch=0", False), ("watch=FALSE", False), ("watch=", True), ("watch", True),
     ("watch=yes", True), ("watch=1&watch=0", True)],
)  # fmt: skip
def test_a_flag_is_true_unless_it_says_otherwise(query: str, expected: bool) -> None:
    assert boolean(parse_query(query), "watch") is expected


def test_a_parameter_that_cannot_be_read_is_lost() -> None:
    assert parse_query("a=%zz&b=1;c=2&d=3&&=&e=%20+x") == {"d": ["3"], "": [""], "e": ["  x"]}


@pytest.mark.parametrize("text", ["", "x", "1.5", "0x1", "٣", "9" * 5000, str(2**63)])
def test_an_integer_that_is_none_is_a_bad_request(text: str) -> None:
    with pytest.raises(BadRequest, match=r"strconv\.ParseInt: parsing"):
        integer({"limit": [text]}, "limit")


@pytest.mark.parametrize("text", ["abc", "-1", "1.5", " 1", str(2**64), "9" * 5000])
def test_a_version_that_is_no_number_is_reported_with_gos_words(text: str) -> None:
    with pytest.raises(RevisionError, match=r"strconv\.ParseUint: parsing"):
        parse_resource_version(text)


def test_a_watch_without_a_version_begins_with_the_state() -> None:
    assert listed("watch=1").send_initial_events is True
    assert listed("watch=1&resourceVersion=0").resource_version_match == "NotOlderThan"
    assert listed("watch=1&resourceVersion=7").send_initial_events is None
    assert listed("").send_initial_events is None


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("resourceVersionMatch=Exact", ["resourceVersionMatch"]),
        ("resourceVersionMatch=Exact&resourceVersion=0", ["resourceVersionMatch"]),
        ("resourceVersionMatch=x&resourceVersion=1&continue=y", ["resourceVersionMatch"] * 2),
        ("sendInitialEvents=false", ["sendInitialEvents"]),
        ("watch=1&resourceVersion=1&sendInitialEvents=true", ["resourceVersionMatch"]),
        ("watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan", ["resourceVersionMatch"]),
        ("watch=1&continue=x", ["resourceVersionMatch"]),
        ("watch=1&resourceVersion=5&continue=x", []),
        ("resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=-3", []),
    ],
)
def test_which_combinations_are_refused(query: str, fields: list[str]) -> None:
    assert [violation.field for violation in listed(query).violations()] == fields


def test_bad_integers_are_reported_before_bad_selectors() -> None:
    with pytest.raises(BadRequest, match="ParseInt"):
        listed("limit=x&labelSelector=a%20b")
    with pytest.raises(BadRequest, match="unable to parse requirement"):
        listed("labelSelector=a%20b&fieldSelector=c")


def test_bad_write_options_are_all_reported() -> None:
    query = parse_query("dryRun=x&fieldValidation=y&fieldManager=%01")

    found = decode_write_options(query, "CreateOptions").violations()

    assert [violation.field for violation in found] == [
        "fieldManager",
        "dryRun",
        "fieldValidation",
    ]


def test_force_is_for_apply_and_apply_needs_a_manager() -> None:
    options = WriteOptions(kind="PatchOptions", force=True)

    assert [v.field for v in options.violations()] == ["force"]
    assert [v.field for v in options.violations(apply=True)] == ["fieldManager"]


def test_delete_options_mean_the_same_from_body_and_query() -> None:
    asked = DeleteOptions(grace_period_seconds=3, propagation_policy="Orphan", uid="u")

    body = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 3,
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u"},
    }
    assert delete_options_from_body(body) == asked
    query = parse_query("gracePeriodSeconds=3&propagationPolicy=Orphan&uid=u")
    assert decode_delete_options(query) == asked


def test_two_deletion_policies_exclude_each_other() -> None:
    both = DeleteOptions(orphan_dependents=True, propagation_policy="Nope")

    assert [v.field for v in both.violations()] == ["propagationPolicy", "propagationPolicy"]


def test_a_field_manager_s_bad_character_is_counted_in_bytes() -> None:
    (wrong,) = decode_write_options(
        parse_query("fieldManager=%C3%A9%01"), "CreateOptions"
    ).violations()

    assert wrong.message == 'Invalid value: "é\\x01": invalid character U+0001 (at position 2)'
