"""Counters whose names do not end in ``_total``: Kubernetes has some, older than the rule."""

from __future__ import annotations

from proreus.server.prometheus import UntypedMetricFamily


class BareCounter(UntypedMetricFamily):
    """The library would add the ending; as untyped it keeps the name (``http/metrics_text``)."""
