"""Sessions end by themselves, in bounds, and tell nobody their secrets."""

from __future__ import annotations

import asyncio

import pytest

from proreus.dashboard import sessions as module
from proreus.dashboard.login_codes import LASTS_S, LoginCodes
from proreus.dashboard.sessions import IDLE_S, LONGEST_S, SESSIONS_MAX, Sessions, Visitor

ANN = Visitor("ann", ("dev",), "ann's secret")


def test_a_cookie_finds_its_session_and_no_other_does() -> None:
    table = Sessions()
    cookie = table.begin(ANN, 0.0)

    found = table.find(cookie, 1.0)

    assert found is not None
    assert found.visitor is ANN
    assert table.find(cookie[:-1], 1.0) is None
    assert table.find("", 1.0) is None
    assert table.find("\udcff", 1.0) is None


def test_a_session_that_nobody_uses_ends() -> None:
    table = Sessions()
    cookie = table.begin(ANN, 0.0)

    assert table.find(cookie, IDLE_S - 1) is not None
    assert table.find(cookie, 2 * IDLE_S - 2) is not None, "it was used in between"
    assert table.find(cookie, 3 * IDLE_S) is None
    assert len(table) == 0


def test_a_session_ends_after_its_longest_time_however_much_it_is_used() -> None:
    table = Sessions()
    cookie = table.begin(ANN, 0.0)

    for hour in range(1, int(LONGEST_S / IDLE_S) * 2):
        assert table.find(cookie, hour * IDLE_S / 2) is not None

    assert table.find(cookie, LONGEST_S) is None


async def test_a_watch_keeps_a_session_from_idling_and_ends_with_it() -> None:
    table = Sessions()
    cookie = table.begin(ANN, 0.0)
    session = table.find(cookie, 0.0)
    assert session is not None
    started = asyncio.Event()

    async def watch() -> None:
        with session.requests.counted():
            started.set()
            await asyncio.Event().wait()

    watching = asyncio.create_task(watch())
    await started.wait()

    table.end_over(IDLE_S + 1)
    assert len(table) == 1
    table.end_over(LONGEST_S)
    assert len(table) == 0
    with pytest.raises(asyncio.CancelledError):
        await watching


def test_a_full_table_drops_the_session_unused_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SESSIONS_MAX", 3)
    table = Sessions()
    first, second, third = (table.begin(ANN, 0.0) for _ in range(3))
    table.find(first, 1.0)

    fourth = table.begin(ANN, 2.0)

    assert table.find(second, 3.0) is None
    assert all(table.find(cookie, 3.0) is not None for cookie in (first, third, fourth))
    assert SESSIONS_MAX >= 100, "people of one cluster have room"


def test_only_the_sessions_own_csrf_token_is_accepted() -> None:
    table = Sessions()
    mine, other = (table.find(table.begin(ANN, 0.0), 0.0) for _ in range(2))
    assert mine is not None
    assert other is not None

    assert mine.accepts(mine.csrf_token)
    assert not mine.accepts(other.csrf_token)
    assert not mine.accepts("")
    assert not mine.accepts("\udcff")


def test_no_secret_is_in_a_representation() -> None:
    table, codes = Sessions(), LoginCodes()
    cookie = table.begin(ANN, 0.0)
    session = table.find(cookie, 0.0)
    assert session is not None
    code = codes.make(ANN, 0.0)

    shown = " ".join(map(repr, (table, session, codes, ANN)))

    for secret in (ANN.token, cookie, session.csrf_token, code):
        assert secret not in shown


def test_a_code_logs_in_once() -> None:
    codes = LoginCodes()
    code = codes.make(ANN, 0.0)

    assert codes.use(code, 1.0) is ANN
    assert codes.use(code, 2.0) is None


def test_a_code_is_good_for_ten_minutes() -> None:
    codes = LoginCodes()
    early, late = codes.make(ANN, 0.0), codes.make(ANN, 0.0)

    assert codes.use(early, LASTS_S - 1) is ANN
    assert codes.use(late, LASTS_S) is None
    assert codes.use("", 0.0) is None


def test_codes_are_bounded_and_the_oldest_go_first() -> None:
    codes = LoginCodes()
    made = [codes.make(ANN, 0.0) for _ in range(200)]

    assert codes.use(made[0], 1.0) is None
    assert codes.use(made[-1], 1.0) is ANN
