"""A client's frames pass if they are masked; a long message of a stream passes in pieces."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.net.websocket.frames import PIECE_BYTES, ClientFrames, Cut, NotMasked

MASK = b"\1\2\3\4"
TEXT, BINARY, PING = 0x81, 0x82, 0x89
BEGINNING = 0x02  # of a message in fragments


def content(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def masked(payload: bytes) -> bytes:
    mask = (MASK * (len(payload) // 4 + 1))[: len(payload)]
    both = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
    return both.to_bytes(len(payload), "big")


def frame(size: int, first: int = BINARY, *, has_mask: bool = True) -> bytes:
    mask = 0x80 if has_mask else 0
    if size < 126:
        head = bytes([first, mask | size])
    elif size < 65536:
        head = bytes([first, mask | 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([first, mask | 127]) + size.to_bytes(8, "big")
    return head + (MASK + masked(content(size)) if has_mask else content(size))


def read(wire: bytes) -> list[tuple[int, bytes]]:
    """First byte and payload of each frame."""
    frames = []
    while wire:
        more = {126: 2, 127: 8}.get(wire[1] & 0x7F, 0)
        size = int.from_bytes(wire[2 : 2 + more], "big") if more else wire[1] & 0x7F
        start = 2 + more + 4
        assert wire[start - 4 : start] == MASK
        frames.append((wire[0], masked(wire[start : start + size])))
        assert len(frames[-1][1]) == size, "the last frame is whole"
        wire = wire[start + size :]
    return frames


def passed(frames: ClientFrames, wire: bytes, step: int) -> bytes:
    step = max(step, len(wire) // 50)
    return b"".join(frames.passed(wire[at : at + step]) for at in range(0, len(wire), step))


_SIZES = st.lists(st.sampled_from([0, 1, 125, 126, 200, 65535, 65536]), max_size=5)
_STEPS = st.sampled_from([1, 2, 3, 1000, 1_000_000])


@settings(max_examples=30)
@given(before=_SIZES, step=_STEPS, has_mask=st.booleans())
def test_only_what_is_masked_passes_however_it_is_cut(
    before: list[int], step: int, has_mask: bool
) -> None:
    wire = b"".join(map(frame, before)) + frame(3, has_mask=has_mask)

    try:
        got = passed(ClientFrames(), wire, step)
    except NotMasked:
        got = b""

    assert got == (wire if has_mask else b"")


@settings(max_examples=30)
@given(
    size=st.integers(1, 4).flatmap(
        lambda pieces: st.integers(pieces * PIECE_BYTES - 2, pieces * PIECE_BYTES + 3)
    ),
    prefix=st.sampled_from([0, 1]),
    first=st.sampled_from([TEXT, BINARY]),
    step=_STEPS,
)
def test_a_long_message_passes_in_pieces_that_repeat_its_prefix(
    size: int, prefix: int, first: int, step: int
) -> None:
    frames = ClientFrames(Cut(prefix, 2**20))
    wire = frame(5, PING) + frame(size, first) + frame(7)

    ping, *pieces, last = read(passed(frames, wire, step))

    assert (ping, last) == ((PING, content(5)), (BINARY, content(7)))
    assert all(len(piece) <= PIECE_BYTES + prefix for _, piece in pieces)
    assert all(piece[:prefix] == content(size)[:prefix] for _, piece in pieces)
    assert b"".join(piece[prefix:] for _, piece in pieces) == content(size)[prefix:]
    assert {kind for kind, _ in pieces} == ({BINARY} if len(pieces) > 1 else {first})


def test_what_is_too_long_or_comes_in_fragments_stays_as_it_is() -> None:
    wire = frame(PIECE_BYTES * 2, BEGINNING) + frame(PIECE_BYTES * 4)

    assert passed(ClientFrames(Cut(1, PIECE_BYTES * 4)), wire, 1000) == wire
