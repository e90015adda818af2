"""What a container writes waits for an attached client, up to a bound in bytes."""

from __future__ import annotations

import pytest

from proreus.aio.mailbox import MailboxClosed
from proreus.cluster.kubelet.runtimes.process.container_run import (
    LISTENER_BYTES_MAX,
    OutputSubscriber,
)

PIECE = bytes(64 * 1024)


async def test_a_client_that_does_not_read_is_cut_off_before_much_waits() -> None:
    listener = OutputSubscriber()

    for _ in range(2 * LISTENER_BYTES_MAX // len(PIECE)):
        listener.publish("stdout", PIECE)
    output = 0
    with pytest.raises(MailboxClosed):
        while True:
            output += len(await listener.stdout.get())

    assert LISTENER_BYTES_MAX // 2 < output <= LISTENER_BYTES_MAX


async def test_a_client_that_reads_hears_everything_however_much_it_is() -> None:
    listener = OutputSubscriber()

    for number in range(2 * LISTENER_BYTES_MAX // len(PIECE)):
        listener.publish("stderr", b"%d" % number + PIECE)
        assert await listener.stderr.get() == b"%d" % number + PIECE


async def test_many_small_pieces_wait_as_well() -> None:
    listener = OutputSubscriber()

    for number in range(1000):
        listener.publish("stdout", b"%d" % number)

    assert [await listener.stdout.get() for _ in range(1000)] == [b"%d" % n for n in range(1000)]
