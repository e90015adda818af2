"""Reads one number of a server's metrics."""

from __future__ import annotations

from collections.abc import Mapping

from proreus.server.prometheus import CollectorRegistry


def sample_value(registry: CollectorRegistry, name: str, labels: Mapping[str, str]) -> float | None:
    """None: there is no such sample."""
    return next(
        (
            sample.value
            for family in registry.collect()
            for sample in family.samples
            if sample.name == name and sample.labels == labels
        ),
        None,
    )
