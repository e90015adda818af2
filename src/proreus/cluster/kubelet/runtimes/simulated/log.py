"""The log of a simulated container. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.values.timestamp import format_time
from proreus.cluster.kubelet.runtimes.simulated.plan import ContainerPlan
from proreus.cluster.kubelet.runtimes.states import Running, Terminated
from proreus.cluster.kubelet.runtimes.streams import LogOptions


class SimulatedLog:
    """One reading of it; ``next_piece`` is what has been added since the last time."""

    def __init__(self, plan: ContainerPlan, options: LogOptions) -> None:
        self._plan = plan
        self._options = options
        self._listers = 0
        self._left = options.limit_bytes
        self._is_first = True

    def next_piece(self, state: Running | Terminated, now: float) -> bytes:
        lines = list(self._lines(state, now))
        fresh = lines[self._listers :]
        self._listers = len(lines)
        since, tail = self._options.since, self._options.tail_lines
        if since is not None:
            fresh = [(at, text) for at, text in fresh if at >= since]
        if tail is not None and self._is_first:
            fresh = fresh[len(fresh) - min(tail, len(fresh)) :]
        self._is_first = False
        stamped = self._options.timestamps
        piece = "".join(f"{format_time(at)} {text}" if stamped else text for at, text in fresh)
        whole = piece.encode()[: self._left]
        if self._left is not None:
            self._left -= len(whole)
        return whole

    def _lines(self, state: Running | Terminated, now: float) -> Iterator[tuple[float, str]]:
        """Times and texts of what has been printed by ``now``."""
        stream, printed = self._options.stream, self._plan.lines
        if printed is not None:
            until = state.finished_at if isinstance(state, Terminated) else now
            for line in printed:
                at = state.started_at + line.at_s
                if at <= until and stream in ("All", "Stderr" if line.is_error else "Stdout"):
                    yield at, line.text
        elif stream != "Stderr":
            name = self._plan.name
            yield state.started_at, f"simulated container {name} started\n"
            if isinstance(state, Terminated):
                text = f"simulated container {name} exited with code {state.exit_code}\n"
                yield state.finished_at, text
