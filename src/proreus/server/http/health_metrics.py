"""The results of health checks as metrics, served at ``/metrics/slis`` under Kubernetes' names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

_GAUGE, _TOTAL = "kubernetes_healthcheck", "kubernetes_healthchecks_total"
_STABLE = "[STABLE] This metric records the"


class HealthMetrics:
    """What each check of each endpoint found last, and how often it found what."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], bool] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def observe(self, name: str, endpoint: str, *, is_fine: bool) -> None:
        self._last[name, endpoint] = is_fine
        self._counts[name, "success" if is_fine else "error", endpoint] += 1

    def text(self) -> bytes:
        """With whole numbers written as Go writes them."""
        return "".join(self._lines()).encode()

    def _lines(self) -> Iterator[str]:
        yield f"# HELP {_GAUGE} {_STABLE} result of a single healthcheck.\n# TYPE {_GAUGE} gauge\n"
        for (name, endpoint), is_fine in sorted(self._last.items()):
            yield f'{_GAUGE}{{name="{name}",type="{endpoint}"}} {int(is_fine)}\n'
        yield f"# HELP {_TOTAL} {_STABLE} results of all healthcheck.\n# TYPE {_TOTAL} counter\n"
        for (name, status, endpoint), count in sorted(self._counts.items()):
            labels = f'name="{name}",status="{status}",type="{endpoint}"'
            yield f"{_TOTAL}{{{labels}}} {count}\n"
