"""The metrics page of a server of several workers."""

from __future__ import annotations

from proreus.server.http.worker_metrics import merged

ONE = b"""# HELP a_total Of things, {counted}.
# TYPE a_total counter
a_total{verb="GET"} 3
# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_bucket{le="+Inf"} 1
b_seconds_count 1
"""
TWO = b"""# HELP a_total Of things, {counted}.
# TYPE a_total counter
a_total{path="/{name} x",verb="GET"} 4
# HELP c Only here.
# TYPE c gauge
c 1e+06
"""


def test_series_of_all_workers_stand_under_one_head_with_their_worker() -> None:
    page = b"".join(merged({1: ONE, 2: TWO, 3: None})).decode()

    assert (
        page
        == """# HELP a_total Of things, {counted}.
# TYPE a_total counter
a_total{worker="1",verb="GET"} 3
a_total{worker="2",path="/{name} x",verb="GET"} 4
# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_bucket{worker="1",le="+Inf"} 1
b_seconds_count{worker="1"} 1
# HELP c Only here.
# TYPE c gauge
c{worker="2"} 1e+06
# HELP proreus_worker_up Whether this worker answered.
# TYPE proreus_worker_up gauge
proreus_worker_up{worker="1"} 1
proreus_worker_up{worker="2"} 1
proreus_worker_up{worker="3"} 0
"""
    )
