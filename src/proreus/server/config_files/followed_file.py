"""A configuration file that takes effect again when it changes.

It is read once a minute. What is wrong at the start is refused; what becomes wrong while the server
runs leaves the value that was read before in force, and is logged and counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from proreus.aio.clock import Clock
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.offload import Runner
from proreus.server.prometheus import CounterMetricFamily, GaugeMetricFamily, Metric

_CHECK_S = 60.0
_BYTES_MAX = 4 * 1024 * 1024
_log = structlog.get_logger(__name__)
T = TypeVar("T")


class Reloads:
    """How often a changed file took effect or did not, and when it last did so."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._last: dict[str, float] = {}

    def count(self, *, is_success: bool, now: float) -> None:
        status = "success" if is_success else "failure"
        self.counts[status] = self.counts.get(status, 0) + 1
        self._last[status] = now

    def families(self, prefix: str) -> Iterator[Metric]:
        """As kube-apiserver counts reloads of its ``prefix``."""
        labels = ("status",)
        reloads = CounterMetricFamily(
            f"{prefix}_automatic_reloads",
            "Changes of the file, by whether they took effect.",
            labels=labels,
        )
        last = GaugeMetricFamily(
            f"{prefix}_automatic_reload_last_timestamp_seconds",
            "When the file last changed, by whether the change took effect.",
            labels=labels,
        )
        for status, count in self.counts.items():
            reloads.add_metric((status,), count)
            last.add_metric((status,), self._last[status])
        yield from (reloads, last)


class FollowedFile(Generic[T]):
    """``value`` is the one in force. Raises ConfigFileInvalid if there is none to begin with.

    ``what`` the file has, for messages. ``parse`` raises ConfigFileInvalid. Once it is followed, it
    is read and parsed in a lane; ``on_change`` is called in the loop with each further value.
    """

    def __init__(
        self,
        path: Path,
        what: str,
        parse: Callable[[bytes], T],
        reloads: Reloads,
        clock: Clock,
        on_change: Callable[[T], None] | None = None,
    ) -> None:
        self._path = path
        self._what = what
        self._parse = parse
        self._reloads = reloads
        self._clock = clock
        self.on_change = on_change
        self._text: bytes | None = self._read()
        self.value = self._parsed(self._text)

    async def run(self, lane: Runner) -> None:
        while True:
            await self._clock.sleep(_CHECK_S)
            await self.reload(lane)

    async def reload(self, lane: Runner) -> None:
        """Take over what the file says now, if that is valid."""
        before, self._text = self._text, None
        try:
            self._text = text = await lane.run(self._read)
            if text == before:
                return
            value = await lane.run(lambda: self._parsed(text))
        except ConfigFileInvalid as error:
            if self._text is None and before is None:
                return  # it could not be read the last time either
            self._reloads.count(is_success=False, now=self._clock.now())
            _log.error(f"{self._what} stays as it was", error=str(error))
            return
        self.value = value
        self._reloads.count(is_success=True, now=self._clock.now())
        _log.info(f"{self._what} reloaded", file=str(self._path))
        if self.on_change is not None:
            self.on_change(value)

    def _read(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                text = file.read(_BYTES_MAX + 1)
        except OSError as error:
            raise self._invalid(error.strerror) from error
        if len(text) > _BYTES_MAX:
            raise self._invalid(f"it has more than {_BYTES_MAX} bytes")
        return text

    def _parsed(self, text: bytes) -> T:
        try:
            return self._parse(text)
        except ConfigFileInvalid as error:
            raise self._invalid(error) from error

    def _invalid(self, why: object) -> ConfigFileInvalid:
        return ConfigFileInvalid(f"{self._what} file {self._path}: {why}")
