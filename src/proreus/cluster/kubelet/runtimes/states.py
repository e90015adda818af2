"""Container states and reports, shared by all runtimes. Pure.

Waiting ──its time──▶ Running ──exits or is stopped──▶ Terminated
   ▲                                                       │
   └──────────── back-off, if its policy restarts it ──────┘
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

CREATING = "ContainerCreating"
INITIALIZING = "PodInitializing"
CRASH_LOOP = "CrashLoopBackOff"
CONFIG_ERROR = "CreateContainerConfigError"
PULL_FAILED, PULL_BACKOFF = "ErrImagePull", "ImagePullBackOff"
NEVER_PULLED = "ErrImageNeverPull"
PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
TERMINAL = (SUCCEEDED, FAILED)
DEADLINE_EXCEEDED = "DeadlineExceeded"
DEADLINE_TEXT = "Pod was active on the node longer than the specified deadline"
KILLED = 137
INTERRUPTED = 143  # ended by SIGTERM
MESSAGE_BYTES = 4096  # of a termination message
MESSAGE_LINES, MESSAGE_LOG_BYTES = 80, 2048  # of a log that says why its container failed
HEALTHY_AFTER_S = 600.0  # after which the crash back-off is reset
_BACKOFF_S, _BACKOFF_MAX_S = 10.0, 300.0


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """``until`` None: no start is scheduled."""

    reason: str = CREATING
    until: float | None = None
    message: str = ""


class Running(msgspec.Struct, frozen=True, gc=False):
    started_at: float


class Terminated(msgspec.Struct, frozen=True, gc=False):
    """``reason`` empty: Completed or Error, as the code says."""

    exit_code: int
    started_at: float
    finished_at: float
    reason: str = ""
    message: str = ""
    container_id: str = ""


ContainerState = Waiting | Running | Terminated


class ContainerReport(msgspec.Struct, frozen=True, gc=False):
    """``container_id`` is empty before the first start. ``allows_next``: of an init container, that
    what comes after it may run."""

    name: str
    image: str
    image_id: str
    container_id: str
    state: ContainerState
    last: Terminated | None
    restarts: int
    is_ready: bool
    is_started: bool
    allows_next: bool = True


class PodReport(msgspec.Struct, frozen=True, gc=False):
    """What a runtime reports of a pod; ``begun`` is when the kubelet first saw it.
    ``is_restarting_all``: its containers are being ended, to start anew together;
    ``is_replacing``: some still run that are to be started again under another definition."""

    phase: str
    begun: float
    init: Sequence[ContainerReport]
    containers: Sequence[ContainerReport]
    ephemeral: Sequence[ContainerReport] = ()
    reason: str = ""
    message: str = ""
    is_restarting_all: bool = False
    is_replacing: bool = False

    @property
    def is_initialized(self) -> bool:
        return all(container.allows_next for container in self.init)


def crash_backoff_s(crashes: int) -> float:
    """How long to wait after so many crashes in a row; the first restart is at once."""
    if crashes < 2:
        return 0.0
    return min(_BACKOFF_S * 2.0 ** min(crashes - 2, 10), _BACKOFF_MAX_S)


def pull_backoff_s(failures: int) -> float:
    """How long after a failed pull the next one comes, after so many in a row."""
    return min(_BACKOFF_S * 2.0 ** min(failures - 1, 10), _BACKOFF_MAX_S)


def crash_loop_message(backoff_s: float, container: str, pod: str) -> str:
    """``pod`` as ``name_namespace(uid)``."""
    minutes, seconds = divmod(int(backoff_s), 60)
    time = f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
    return f"back-off {time} restarting failed container={container} pod={pod}"
