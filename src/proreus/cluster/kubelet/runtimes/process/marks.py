"""A mark that the processes of a container inherit and do not lose by accident.

It is a value of RLIMIT_RTTIME so large that it limits nothing (2^62 microseconds of real-time
scheduling and more): every fork and exec keeps it, also where the environment is emptied and the
process goes to a session of its own and is orphaned. The upper bits say whose folder it is, the
lower ones which container; ``guard`` finds processes by it.

No mark (0) where the kubelet's own limit is not infinite: it could not be raised to one of ours.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from proreus.cluster.kubelet.runtimes.process.guard import CONTAINER_BITS, LIMIT

UNMARKED = 0
_MARKED = 1 << 62
_FOLDER_BYTES = 5


def owner_of(folder: Path) -> int:
    """The upper bits of the marks of a kubelet's containers: of its folder, so that the next
    kubelet there knows them too."""
    digest = hashlib.sha256(os.fsencode(folder.absolute())).digest()
    return (_MARKED >> CONTAINER_BITS) | int.from_bytes(digest[:_FOLDER_BYTES], "big")


def marks(owner: int) -> Iterator[int]:
    """One per start of a container; nothing of those whose number comes again is left by then."""
    if resource.getrlimit(LIMIT)[1] != resource.RLIM_INFINITY:
        return itertools.repeat(UNMARKED)
    numbers = itertools.cycle(range(1 << CONTAINER_BITS))
    return (owner << CONTAINER_BITS | number for number in numbers)
