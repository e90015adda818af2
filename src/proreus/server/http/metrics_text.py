"""Metrics as text, in the order and with the numbers of Go's client library.

Prometheus' own writer for Python writes whole numbers as ``3.0`` and families in the order of their
registration; what compares two servers' pages finds every line different.
"""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api import go_text
from proreus.server.bare_counter import BareCounter
from proreus.server.prometheus import CollectorRegistry, Metric, Sample

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


def metrics_text(registry: CollectorRegistry) -> Iterator[bytes]:
    """One family after another, by name."""
    families = [(_exposed_name(family), family) for family in registry.collect()]
    for name, family in sorted(families, key=lambda entry: entry[0]):
        head = f"# HELP {name} {family.documentation.translate(_HELP_ESCAPES)}\n"
        lines = [head, f"# TYPE {name} {_type(family)}\n", *_lines(family)]
        yield "".join(lines).encode()


def _exposed_name(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


def _type(family: Metric) -> str:
    if isinstance(family, BareCounter):
        return "counter"
    return "untyped" if family.type == "unknown" else family.type


def _lines(family: Metric) -> Iterator[str]:
    # Those of one histogram stay together and in their order.
    kept = (sample for sample in family.samples if not sample.name.endswith("_created"))
    for sample in sorted(kept, key=_series):
        labels = ",".join(
            f'{name}="{value.translate(_ESCAPES)}"' for name, value in _labels(sample)
        )
        braces = f"{{{labels}}}" if labels else ""
        yield f"{sample.name}{braces} {go_text.number(sample.value)}\n"


def _series(sample: Sample) -> list[tuple[str, str]]:
    return sorted(entry for entry in sample.labels.items() if entry[0] != "le")


def _labels(sample: Sample) -> Iterator[tuple[str, str]]:
    yield from _series(sample)
    if "le" in sample.labels:
        yield "le", sample.labels["le"]
