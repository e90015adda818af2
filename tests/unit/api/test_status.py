"""Status objects and the exceptions that carry them (server.md §7)."""

from __future__ import annotations

import pytest

from proreus.api import field_error, status
from proreus.api.group_version import GroupKind, GroupResource
from proreus.api.status import ApiError

CONFIG_MAPS = GroupResource("", "configmaps")
DEPLOYMENTS = GroupResource("apps", "deployments")


def test_a_missing_object_is_named_with_its_group() -> None:
    error = status.NotFound.of(DEPLOYMENTS, "web")

    assert error.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "web" not found',
        "reason": "NotFound",
        "details": {"name": "web", "group": "apps", "kind": "deployments"},
        "code": 404,
    }


@pytest.mark.parametrize(
    ("name", "shown"),
    [("\0", r"\x00"), ('a"b', r"a\"b"), ("a\\b", r"a\\b"), ("a\n", r"a\n"), ("é", "é")],
)
def test_unprintable_characters_of_a_name_are_escaped_in_messages(name: str, shown: str) -> None:
    errors = (
        status.NotFound.of(CONFIG_MAPS, name),
        status.Forbidden.of(CONFIG_MAPS, name, "no"),
        status.AlreadyExists.of(CONFIG_MAPS, name),
        status.Conflict.of(CONFIG_MAPS, name, "no"),
        status.Invalid.of(GroupKind("", "ConfigMap"), name, []),
    )

    assert all(f'"{shown}"' in error.message for error in errors)
    assert all(error.details["name"] == name for error in errors)


def test_every_violation_is_a_cause_and_the_message_says_equal_ones_once() -> None:
    missing = field_error.required("spec.containers")
    unknown = field_error.not_supported("spec.restartPolicy", "No", ["Always", "Never"])

    error = status.Invalid.of(GroupKind("", "Pod"), "p", [missing, unknown, missing])

    assert error.message == (
        'Pod "p" is invalid: [spec.containers: Required value, spec.restartPolicy: '
        'Unsupported value: "No": supported values: "Always", "Never"]'
    )
    assert [cause["reason"] for cause in error.causes] == [
        "FieldValueRequired",
        "FieldValueNotSupported",
        "FieldValueRequired",
    ]


def test_a_lost_optimistic_lock_is_said_in_the_words_clients_match_on() -> None:
    error = status.Conflict.modified(CONFIG_MAPS, "a")

    assert error.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


@pytest.mark.parametrize(
    "error",
    [
        status.BadRequest("no"),
        status.NotFound.of(CONFIG_MAPS, "a"),
        status.AlreadyExists.of(CONFIG_MAPS, "a"),
        status.Conflict.modified(CONFIG_MAPS, "a"),
        status.Expired("too old resource version: 1 (5)"),
        status.TooManyRequests.of("later", 3),
        status.InternalError.of("broken"),
        status.ResourceVersionTooLarge.of(9, 5, retry_after_s=1),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_status_received_becomes_the_exception_that_was_sent(error: ApiError) -> None:
    received = ApiError.from_status(error.status)

    assert type(received) is type(error)
    assert received.status == error.status
    assert received.retry_after_s == error.retry_after_s


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        ({"reason": "Gone", "code": 410}, status.Expired),
        ({"reason": "SomethingNew", "code": 404}, status.NotFound),
        ({"code": 503}, status.ServiceUnavailable),
        (
            {"reason": "Timeout", "message": "Too large resource version: 9", "code": 504},
            status.ResourceVersionTooLarge,
        ),
        ({"code": 418}, ApiError),
    ],
)
def test_an_unknown_reason_is_read_by_its_code(
    received: dict[str, object], expected: type[ApiError]
) -> None:
    assert type(ApiError.from_status(received)) is expected
