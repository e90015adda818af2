"""Resource quotas."""

from __future__ import annotations

from tests.unit.server.kinds.printing import cells


def test_quotas_are_split_into_requests_and_limits() -> None:
    status = {"hard": {"pods": "5", "limits.cpu": "2"}, "used": {"pods": "1"}}
    assert cells("", "ResourceQuota", {"status": status})[1:3] == ["pods: 1/5", "limits.cpu: 0/2"]
