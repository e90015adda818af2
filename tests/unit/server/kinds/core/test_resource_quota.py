"""Resource quotas."""

from __future__ import annotations

from tests.unit.server.kinds.creating import created, updated
from tests.unit.server.kinds.printing import cells


def test_quotas_are_split_into_requests_and_limits() -> None:
    status = {"hard": {"pods": "5", "limits.cpu": "2"}, "used": {"pods": "1"}}
    assert cells("", "ResourceQuota", {"status": status})[1:3] == ["pods: 1/5", "limits.cpu: 0/2"]


def test_the_scopes_of_a_quota_are_a_set_that_stays() -> None:
    quota = created("v1", "ResourceQuota", spec={"hard": {"pods": "1"}, "scopes": ["BestEffort"]})

    twice = updated(quota, {"spec": {"scopes": ["BestEffort", "BestEffort"]}})[1]
    other = updated(quota, {"spec": {"scopes": ["Terminating"]}})[1]
    none = updated(quota, {"spec": {"scopes": None}})[1]

    assert twice == []
    assert other == ['spec.scopes: Invalid value: ["Terminating"]: field is immutable']
    assert none == ["spec.scopes: Invalid value: null: field is immutable"]
