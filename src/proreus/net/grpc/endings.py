"""How a call failed, of what its peer sent last: a head, trailers or a reset."""

from __future__ import annotations

from proreus.net.grpc.failures import Code, RpcFailed, code_of
from proreus.net.grpc.header_blocks import AnswerHead
from proreus.net.http2.frames import ErrorCode


def failure_of(head: AnswerHead) -> RpcFailed:
    if head.grpc_status is None:
        return http_failure(head)
    if head.grpc_status:
        return RpcFailed(code_of(head.grpc_status), head.grpc_message)
    return RpcFailed(Code.INTERNAL, "the answer ended inside of a message")


def http_failure(head: AnswerHead) -> RpcFailed:
    """The answer of a peer, or of a proxy before it, that speaks no gRPC."""
    is_temporary = head.http_status in (429, 502, 503, 504)
    code = Code.UNAVAILABLE if is_temporary else Code.UNKNOWN
    return RpcFailed(code, f"an answer that is no gRPC, HTTP status {head.http_status}")


def reset_failure(code: int) -> RpcFailed:
    if code == ErrorCode.REFUSED_STREAM:
        return RpcFailed(Code.UNAVAILABLE, "the peer refused the stream", is_unsent=True)
    if code == ErrorCode.ENHANCE_YOUR_CALM:
        return RpcFailed(Code.RESOURCE_EXHAUSTED, "the peer asks for less")
    return RpcFailed(Code.UNAVAILABLE, f"the peer reset the stream, code {code}")
