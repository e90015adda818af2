"""A cluster whose parts are watched: each acts as who it is, and is never refused.

The server's audit log says so. It is read when the cluster ends, so that every test that uses such
a cluster proves it for what it does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.running_server import RunningServer, running_server

_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""
# Answers of admission to who may write, but not this or not now.
_NOT_ABOUT_RIGHTS = ("exceeded quota", "is being terminated", "error looking up service account")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a part of the cluster."""

    user: str
    verb: str
    uri: str
    code: int
    said: str

    @property
    def is_refused(self) -> bool:
        about_rights = not any(text in self.said for text in _NOT_ABOUT_RIGHTS)
        return self.code in (401, 403) and about_rights


def asked_by_parts(log: Path) -> list[Asked]:
    """Parts say that they are one in their User-Agent. The last line may be half written."""
    whole, _, _ = log.read_text().rpartition("\n")
    events = [json.loads(line) for line in whole.splitlines()]
    return [
        Asked(
            event["user"]["username"],
            event["verb"],
            event["requestURI"],
            (event.get("responseStatus") or {}).get("code", 0),
            (event.get("responseStatus") or {}).get("message", ""),
        )
        for event in events
        if event.get("userAgent", "").startswith("proreus-")
    ]


@contextmanager
def cluster_of_least_rights(folder: Path, *flags: str) -> Iterator[RunningServer]:
    policy, log = folder / "audit-policy.yaml", folder / "audit.log"
    policy.write_text(_POLICY)
    audit = ("--audit-policy-file", str(policy), "--audit-log-path", str(log))
    with running_server(folder / "data", *audit, *flags, command="up") as cluster:
        yield cluster
    asked = asked_by_parts(log)
    assert {one.user for one in asked if not one.user.startswith("system:")} == set()
    assert [one for one in asked if one.is_refused] == []
