"""How the cost of work grows with its size: in CPU time, which a busy machine does not change."""

from __future__ import annotations

import time
from collections.abc import Callable

_TIMES = 16
_LOOKS = 3


def grows_with_its_square(work: Callable[[int], object], size: int) -> bool:
    """Sixteen times the size takes as long as sixteen times the work if that is linear, and 16
    times as long if not. Both are measured side by side, as the machine's pace may change; work
    that looked linear once is."""
    work(size)  # what is made once is made
    return all(
        _cost(work, _TIMES * size) > 4 * sum(_cost(work, size) for _ in range(_TIMES)) + 0.05
        for _ in range(_LOOKS)
    )


def _cost(work: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    work(size)
    return time.process_time() - start
