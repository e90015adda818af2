"""What is logged of failed reconciles, and how often."""

from __future__ import annotations

import logging

import pytest

from proreus.api.status import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from proreus.client.controller import RetryLater
from proreus.client.controller.failure_log import Entry, FailureLog
from proreus.net.client.transport_error import ConnectionLost

LINE = Entry(logging.INFO, has_traceback=False)
BUG = Entry(logging.ERROR, has_traceback=True)
BUG_AGAIN = Entry(logging.ERROR, has_traceback=False)


def raised(error: Exception) -> Exception:
    try:
        raise error.with_traceback(None)
    except Exception as caught:
        return caught


def ending_namespace() -> ApiError:
    cause = {"reason": "NamespaceTerminating", "message": "namespace x is being terminated"}
    return Forbidden("unable to create new content", details={"causes": [cause]})


@pytest.mark.parametrize(
    "error",
    [
        Conflict("the object has been modified"),
        NotFound("not found"),
        AlreadyExists("already exists"),
        Forbidden('pods "a" is forbidden: exceeded quota: q, requested: pods=1'),
        ending_namespace(),
        ConnectionLost("/api", "gone"),
        RetryLater("two pods are left"),
        ExceptionGroup("both", [NotFound("not found"), Conflict("modified")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_state_of_a_cluster_brings_is_a_line_without_a_traceback(error: Exception) -> None:
    assert FailureLog().failed("default/a", raised(error), 0.005) == LINE


@pytest.mark.parametrize(
    "error",
    [
        ValueError("oh"),
        Invalid("spec: Invalid value"),
        Forbidden("user may not list pods"),
        ExceptionGroup("both", [NotFound("not found"), ValueError("oh")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_bug_is_logged_with_its_traceback_once(error: Exception) -> None:
    log = FailureLog()
    assert log.failed("default/a", raised(error), 0.005) == BUG
    assert log.failed("default/b", raised(error), 0.005) == BUG_AGAIN


def test_the_same_error_from_elsewhere_in_the_code_is_another_bug() -> None:
    log = FailureLog()
    assert log.failed("default/a", raised(ValueError("oh")), 0.005) == BUG
    assert log.failed("default/a", ValueError("oh"), 0.01) == BUG


def test_a_key_that_keeps_failing_is_logged_again_when_its_delay_has_doubled() -> None:
    log, error = FailureLog(), NotFound("not found")
    delays = [5.0, 6.0, 9.9, 10.0, 19.0, 20.0, 20.0]

    is_logged = [log.failed("default/a", error, delay) is not None for delay in delays]

    assert is_logged == [True, False, False, True, False, True, False]


def test_another_failure_and_one_after_a_success_are_news() -> None:
    log = FailureLog()
    assert log.failed("default/a", NotFound("not found"), 5.0) == LINE
    assert log.failed("default/a", Conflict("modified"), 5.0) == LINE
    assert log.failed("default/a", Conflict("modified"), 5.0) is None
    log.succeeded("default/a")
    assert log.failed("default/a", Conflict("modified"), 5.0) == LINE


def test_a_failure_that_is_not_retried_is_always_logged() -> None:
    log, error = FailureLog(), NotFound("not found")
    assert [log.ended("default/a", error) for _ in range(2)] == [LINE, LINE]
