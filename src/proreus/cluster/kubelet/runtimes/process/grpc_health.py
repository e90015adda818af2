"""Asks a program how it is, by gRPC's health protocol (``grpc.health.v1.Health/Check``)."""

from __future__ import annotations

from proreus.aio.clock import Clock
from proreus.api.wire.protobuf_wire import ProtobufError, read_varint, write_varint
from proreus.net.grpc.channel import Channel, GrpcTarget
from proreus.net.grpc.failures import Code, RpcFailed

_CHECK = "/grpc.health.v1.Health/Check"
_METADATA = (("user-agent", "kube-probe"),)
_SERVICE_FIELD, _STATUS_FIELD = 0x0A, 0x08  # the first field of either message
_STATUSES = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
_SERVING = "SERVING"


async def health_problem(target: GrpcTarget, service: str, clock: Clock, timeout_s: float) -> str:
    """Why it is not healthy, for the user; empty: it is."""
    channel, name = Channel(target, clock, timeout_s), service.encode()
    request = bytes([_SERVICE_FIELD]) + write_varint(len(name)) + name if name else b""
    try:
        answer = await channel.call(_CHECK, request, _METADATA)
    except RpcFailed as failure:
        return _refusal(target, failure, timeout_s)
    finally:
        await channel.close()
    status = _status(answer)
    return "" if status == _SERVING else f'service unhealthy (responded with "{status}")'


def _status(answer: bytes) -> str:
    """Zero is not sent at all; what cannot be read is nothing that serves."""
    if not answer or answer[0] != _STATUS_FIELD:
        return _STATUSES[0]
    try:
        number, _ = read_varint(answer, 1)
    except (IndexError, ProtobufError):
        return _STATUSES[0]
    return _STATUSES[number] if number < len(_STATUSES) else str(number)


def _refusal(target: GrpcTarget, failure: RpcFailed, timeout_s: float) -> str:
    if failure.code is Code.UNIMPLEMENTED:
        return f"error: this server does not implement the grpc health protocol: {failure.details}"
    if failure.is_unsent or failure.code is Code.DEADLINE_EXCEEDED:
        where = f'failed to connect service "{target.authority}" within {timeout_s:g}s'
        return f"timeout: {where}: {failure.details}"
    return f"error: health rpc probe failed: {failure}"
