"""Which queues a flow may wait in: a few out of many, by its hash. Pure.

Two flows share all of their queues so rarely that one that fills its own leaves the other a free
one: with 128 queues and a hand of 6, once in five billion pairs.
"""

from __future__ import annotations

from hashlib import blake2b


def flow_hash(schema: str, flow: str) -> int:
    return int.from_bytes(blake2b(f"{schema}\0{flow}".encode(), digest_size=16).digest(), "big")


def deal(value: int, queues: int, hand_size: int) -> list[int]:
    """``hand_size`` different numbers below ``queues``, each set as likely as any other."""
    hand: list[int] = []
    for position in range(min(hand_size, queues)):
        value, card = divmod(value, queues - position)
        for dealt in sorted(hand):
            if dealt <= card:
                card += 1
        hand.append(card)
    return hand
