"""Channels in a WebSocket: the spellings, who chooses one, and how a command ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire import channels
from proreus.api.wire.channels import (
    COMMAND_PROTOCOLS,
    FORWARD_PROTOCOLS,
    V4,
    V4_BASE64,
    V5,
    ChannelClosed,
    ChannelError,
    ChannelMessage,
)


@given(st.sampled_from([V5, V4, V4_BASE64]), st.integers(0, 4), st.binary(max_size=200))
def test_a_message_comes_out_of_its_channel(
    protocol: channels.ChannelProtocol, channel: int, payload: bytes
) -> None:
    assert protocol.decode(protocol.encode(channel, payload)) == ChannelMessage(channel, payload)


def test_text_counts_like_bytes() -> None:
    assert V4.decode("\0ls\n") == ChannelMessage(0, b"ls\n")


def test_only_the_fifth_version_closes_a_stream() -> None:
    assert V5.decode(V5.encode_close(0)) == ChannelClosed(0)
    assert V4.decode(b"\xff\0") == ChannelMessage(255, b"\0")


@pytest.mark.parametrize("message", [b"", b"x", b"9!"])
def test_a_message_without_a_channel_is_refused(message: bytes) -> None:
    with pytest.raises(ChannelError):
        V4_BASE64.decode(message)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["v5.channel.k8s.io", "v4.channel.k8s.io"], "v5.channel.k8s.io"),
        (["v4.channel.k8s.io", "v5.channel.k8s.io"], "v4.channel.k8s.io"),
        (["made-up", "base64.channel.k8s.io"], "base64.channel.k8s.io"),
        (
            ["base64url.bearer.authorization.k8s.io.dG9rZW4", "v4.channel.k8s.io"],
            "v4.channel.k8s.io",
        ),
        ([], ""),
        (["made-up"], None),
    ],
)
def test_the_client_s_first_wish_that_is_served_counts(
    offered: list[str], chosen: str | None
) -> None:
    found = channels.choose(offered, COMMAND_PROTOCOLS)

    assert (None if found is None else found.name) == chosen


def test_ports_are_not_forwarded_by_a_protocol_for_commands() -> None:
    """The official Python client offers both and must get the one that has port channels."""
    assert channels.choose([V5.name, V4.name], FORWARD_PROTOCOLS) is V4
    assert channels.choose([V5.name], FORWARD_PROTOCOLS) is None


@given(st.integers(0, 255))
def test_an_exit_code_survives_its_status(code: int) -> None:
    assert channels.exit_code(channels.exit_status(code, ["sh"])) == code


def test_a_failure_that_is_no_exit_has_no_code() -> None:
    assert channels.exit_code({"status": "Failure", "reason": "InternalError"}) is None


@pytest.mark.parametrize(
    ("said", "size"),
    [
        (b'{"Width":80,"Height":24}', (80, 24)),
        (b'{"Width":0,"Height":24}', None),
        (b'{"Width":"80"}', None),
        (b"[]", None),
        (b"{", None),
    ],
)
def test_a_terminal_s_size_is_read_or_passed_over(
    said: bytes, size: tuple[int, int] | None
) -> None:
    assert channels.terminal_size(said) == size
