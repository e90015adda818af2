"""Health probe of an etcd cluster, every few seconds.

A read through the majority finds a lost quorum, the status of a member the alarms. A write that is
refused for lack of space is reported by the store at once; only a probe ends such a state, because
etcd refuses writes until its alarm is disarmed.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.server.storage.etcd import messages
from proreus.server.storage.etcd.client import RANGE, STATUS, EtcdClient
from proreus.server.storage.health import Full, Health, Healthy, Unreachable
from proreus.server.storage.interface import StorageError

PROBE_S = 5.0

_NO_SPACE = "NOSPACE"


async def ask(client: EtcdClient) -> Health:
    """What one read and one status say."""
    try:
        await client.call(RANGE, messages.RangeRequest(key=b"\0", count_only=True))
        status = await client.call(STATUS, messages.StatusRequest())
    except StorageError as why:
        return Unreachable(str(why))
    return condition(status.errors)


def full(why: str) -> Full:
    return Full(why, "delete keys, compact and defragment etcd, then disarm its alarm")


def condition(alarms: Sequence[str]) -> Health:
    """What a member's list of alarms says about the cluster."""
    if any(_NO_SPACE in alarm for alarm in alarms):
        return full("etcd has raised its alarm NOSPACE")
    if alarms:
        return Unreachable(f"etcd has raised an alarm: {'; '.join(alarms)}")
    return Healthy()
