"""How the cost of work grows with its size: in CPU time, which a busy machine does not change."""

from __future__ import annotations

import time
from collections.abc import Callable

_TIMES = 16


def grows_with_its_square(work: Callable[[int], object], size: int) -> bool:
    """Sixteen times the size takes 16 times as long if the work is linear, 256 times if not."""
    work(size)  # what is made once is made
    small = min(_cost(work, size) for _ in range(3))
    return min(_cost(work, _TIMES * size) for _ in range(2)) > small * _TIMES * 4 + 0.05


def _cost(work: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    work(size)
    return time.process_time() - start
