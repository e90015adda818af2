"""What a cluster of 5,000 nodes and 150,000 pods asks of its servers: docs/scale.md.

``python -m benchmarks.scale --measure`` measures slopes and runs, ``--model`` makes the tables and
pictures of them. As a benchmark: the slopes, and how far they are off at one hundredth of the size.
"""

from __future__ import annotations

from benchmarks.report import Row
from benchmarks.scale.measured import measure
from benchmarks.scale.model import FULL, demand

_SHARE = 0.01


def run() -> list[Row]:
    measurement = measure(shares=(_SHARE,))
    slopes, (ran,) = measurement.measured.slopes, measurement.checks
    predicted = demand(FULL.scaled(_SHARE), slopes, ran.run_s)
    whole = demand(FULL, slopes)
    return [
        Row("memory per pod beside its pages", slopes.pod_b, "B"),
        Row("memory per connection", slopes.connection_b, "B"),
        Row("memory per watch beside its connection", slopes.watch_b, "B"),
        Row("a connection's handshake, CPU", slopes.handshake_ms, "ms"),
        Row("a pod's status, one at a time, CPU", slopes.pod_change.cpu_ms, "ms"),
        Row("a lease's renewal, one at a time, CPU", slopes.lease.cpu_ms, "ms"),
        Row("an event's delivery, CPU", slopes.delivery_us, "µs"),
        Row("memory of 50 nodes and 1,500 pods, predicted", predicted.memory_mb, "MB"),
        Row("the same, measured", ran.memory_mb, "MB"),
        Row("CPU of them, predicted", predicted.cores * 100, "% of a core"),
        Row("the same, measured, CPU", ran.cores * 100, "% of a core"),
        Row("memory of 5,000 nodes and 150,000 pods, predicted", whole.memory_mb, "MB"),
        Row("CPU of these, predicted, if each write were alone", whole.cores * 100, "% of a core"),
    ]
