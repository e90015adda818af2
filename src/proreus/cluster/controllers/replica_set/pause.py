"""How long a ReplicaSet is left alone after its status was written. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from proreus.api.object import KubeObject
from proreus.cluster.controllers.replica_set.pod_summaries import PodSummary

# A ReplicaSet is looked at for a tenth of the time. Of 1,000 pods: ten times a second, and twice
# where all its writes take long.
_PAUSES_PER_RECONCILE = 9
_PAUSE_PER_POD_MIN_S, _PAUSE_PER_POD_MAX_S = 0.0001, 0.001
_PAUSE_MAX_S = 0.5  # a rollout waits for every count in between


class Pause:
    """Lasts until a time, and no longer than the last of the pods that were starting or ending when
    it began: a rollout does not wait for the clock to be told that it is complete. If none was, it
    lasts its whole time, so that pods which change again and again cause few reconciles.

    ``left_s`` is asked at every change of a pod. It looks at one pod that is not settled, and at
    each of the others once during the pause.
    """

    __slots__ = ("_awaited", "_is_cut_short", "_until", "generation")

    def __init__(self, generation: int, until: float, pods: Iterable[PodSummary]) -> None:
        self.generation = generation
        self._until = until
        self._awaited = [summary for summary in pods if not _is_settled(summary)]
        self._is_cut_short = bool(self._awaited)

    def left_s(self, now: float, find: Callable[[str], KubeObject | None]) -> float:
        """``find``: the present version of a pod, by its key."""
        return 0.0 if self._is_cut_short and self._are_settled(find) else self._until - now

    def _are_settled(self, find: Callable[[str], KubeObject | None]) -> bool:
        while self._awaited:
            known = self._awaited[-1]
            found = find(known.pod.key)
            if found is known.pod:
                return False
            if found is not None and found.uid == known.pod.uid:
                known = self._awaited[-1] = PodSummary.of(found)
                if not _is_settled(known):
                    return False
            self._awaited.pop()
        return True


def _is_settled(summary: PodSummary) -> bool:
    return summary.is_finished or (summary.is_ready and not summary.is_deleting)


def pause_s(pods: int, took_s: float) -> float:
    """After a reconcile that took so long, until the next. It costs more the more pods there are;
    how long its write takes says how busy the server is."""
    pause = max(took_s * _PAUSES_PER_RECONCILE, pods * _PAUSE_PER_POD_MIN_S)
    return min(pause, pods * _PAUSE_PER_POD_MAX_S, _PAUSE_MAX_S)
