"""Queues with a stated rule for when they are full."""

from __future__ import annotations

import asyncio

import pytest

from proreus.aio.mailbox import Mailbox, MailboxClosed, MailboxFull


async def test_items_come_out_in_the_order_they_went_in() -> None:
    mailbox: Mailbox[int] = Mailbox()
    for item in range(3):
        mailbox.put_nowait(item)

    assert [await mailbox.get() for _ in range(3)] == [0, 1, 2]


async def test_a_full_mailbox_refuses_and_then_makes_the_producer_wait() -> None:
    mailbox: Mailbox[int] = Mailbox(limit=1)
    mailbox.put_nowait(1)
    with pytest.raises(MailboxFull):
        mailbox.put_nowait(2)

    async with asyncio.TaskGroup() as group:
        group.create_task(mailbox.put(2))
        assert await mailbox.get() == 1
        assert await mailbox.get() == 2


async def test_a_closed_mailbox_gives_what_is_inside_and_then_says_so() -> None:
    mailbox: Mailbox[int] = Mailbox()
    mailbox.put_nowait(1)
    mailbox.close()

    assert await mailbox.get() == 1
    with pytest.raises(MailboxClosed):
        await mailbox.get()
    with pytest.raises(MailboxClosed):
        mailbox.put_nowait(2)


async def test_closing_frees_a_waiting_consumer_and_waiting_producers() -> None:
    empty: Mailbox[int] = Mailbox()
    full: Mailbox[int] = Mailbox(limit=1)
    full.put_nowait(1)
    waiting = asyncio.gather(empty.get(), full.put(2), return_exceptions=True)
    await asyncio.sleep(0)

    empty.close()
    full.close()

    assert [type(result) for result in await waiting] == [MailboxClosed, MailboxClosed]


async def test_a_cancelled_producer_hands_its_room_on() -> None:
    mailbox: Mailbox[int] = Mailbox(limit=1)
    mailbox.put_nowait(1)
    impatient = asyncio.ensure_future(mailbox.put(2))
    patient = asyncio.ensure_future(mailbox.put(3))
    await asyncio.sleep(0)

    assert await mailbox.get() == 1
    impatient.cancel()
    await patient

    assert await mailbox.get() == 3


async def test_an_unbounded_mailbox_raises_its_alarm_at_each_doubling() -> None:
    alarms: list[int] = []
    mailbox: Mailbox[int] = Mailbox(high_water=10, alarm=alarms.append)

    for item in range(45):
        mailbox.put_nowait(item)

    assert alarms == [10, 20, 40]
    assert [await mailbox.get() for _ in range(45)] == list(range(45))
    assert repr(mailbox) == "<Mailbox open, 0 waiting>"
