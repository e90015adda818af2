"""How a server's process is set up before its loop starts.

Only commands call this: in somebody's test or application it is not ours to change.

The TLS layer reads into buffers of 256 kB and shrinks them. The C library would map and unmap such
a buffer in the kernel for every request, a tenth of what HTTP and TLS cost a small one; up to a
megabyte it keeps them. Larger ones, the bodies of lists, still go back to the system at once.
"""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # mallopt's names for them
_MAPPED_BYTES_MIN = 1024 * 1024
_TRIM_BYTES = 4 * 1024 * 1024


def keep_small_buffers() -> None:
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # other C libraries do well by themselves
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES_MIN)
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
