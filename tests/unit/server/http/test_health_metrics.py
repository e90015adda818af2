"""Health checks as metrics: what each found last, and how often it found what."""

from __future__ import annotations

from proreus.server.http.health import Health


def test_every_check_is_measured_whether_or_not_somebody_asked_for_it() -> None:
    faults = iter(["", "slow", "slow"])
    health = Health({"livez": {"ping": lambda: "", "etcd": lambda: next(faults)}})

    before = health.metrics().decode()
    health.metrics()
    after = health.metrics().decode()

    assert 'kubernetes_healthcheck{name="etcd",type="livez"} 1\n' in before
    assert 'kubernetes_healthcheck{name="etcd",type="livez"} 0\n' in after
    for status, count in (("success", 1), ("error", 2)):
        labels = f'name="etcd",status="{status}",type="livez"'
        assert f"kubernetes_healthchecks_total{{{labels}}} {count}\n" in after
    assert 'name="ping",status="error"' not in after
