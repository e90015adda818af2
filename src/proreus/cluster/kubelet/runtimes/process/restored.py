"""A pod's course as its status left it, for a kubelet that was restarted. Pure.

Processes do not outlive their kubelet: what the status calls running has ended by now, through no
fault of its own, and is started again at once if its policy says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.values.timestamp import parse_time
from proreus.cluster.kubelet.runtimes.process.course import ContainerCourse, PodCourse
from proreus.cluster.kubelet.runtimes.process.described import Json, PodSpec
from proreus.cluster.kubelet.runtimes.states import CRASH_LOOP, KILLED, Terminated

LOST = "ContainerStatusUnknown"
_LOST_TEXT = "The container ended together with its kubelet"


def restore(pod: PodSpec, now: float) -> PodCourse:
    status = pod.content.get("status") or {}
    begun = parse_time(status["startTime"]) if status.get("startTime") else now
    course = PodCourse(pod, begun)
    _restore(course.init, status.get("initContainerStatuses") or (), now)
    _restore(course.containers, status.get("containerStatuses") or (), now)
    return course


def _restore(courses: Sequence[ContainerCourse], statuses: Sequence[Json], now: float) -> None:
    known = {status["name"]: status for status in statuses}
    for course in courses:
        status = known.get(course.spec.name)
        if status is not None and status.get("containerID"):
            _restore_one(course, status, now)


def _restore_one(course: ContainerCourse, status: Json, now: float) -> None:
    state = status.get("state") or {}
    course.container_id = status["containerID"]
    course.restarts = status.get("restartCount") or 0
    course.has_started = bool(status.get("started") or course.restarts)
    course.last = _terminated((status.get("lastState") or {}).get("terminated"))
    if running := state.get("running"):
        started_at = parse_time(running["startedAt"]) if running.get("startedAt") else now
        course.state = Terminated(KILLED, started_at, now, LOST, _LOST_TEXT, course.container_id)
        return
    ended = _terminated(state.get("terminated"))
    if ended is None and (state.get("waiting") or {}).get("reason") == CRASH_LOOP:
        ended = course.last
    if ended is not None:
        course.crashes = course.restarts + 1
        course.state = ended
        course.back_off()
    elif course.last is not None:
        course.state = course.last


def _terminated(ended: Json | None) -> Terminated | None:
    if not ended or not ended.get("finishedAt"):
        return None
    return Terminated(
        exit_code=ended.get("exitCode") or 0,
        started_at=parse_time(ended.get("startedAt") or ended["finishedAt"]),
        finished_at=parse_time(ended["finishedAt"]),
        reason=ended.get("reason") or "",
        message=ended.get("message") or "",
        container_id=ended.get("containerID") or "",
    )
