"""Options that record nothing are said, since somebody expects a record."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from proreus.server.audit.auditor import open_auditor
from proreus.server.audit.options import AuditOptions
from proreus.server.offload import INLINE
from proreus.server.prometheus import CollectorRegistry
from proreus.testing.virtual_clock import VirtualClock

POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("log_path", "no audit policy file is given: nothing is recorded"),
        ("policy_file", "neither an audit log nor a webhook is given: nothing is recorded"),
    ],
)
async def test_half_of_an_audit_configuration_is_warned_of(
    tmp_path: Path, given: str, said: str
) -> None:
    file = tmp_path / "file"
    file.write_text(POLICY)
    options = AuditOptions(**{given: file})  # type: ignore[arg-type]

    with capture_logs() as logs:
        async with open_auditor(options, CollectorRegistry(), VirtualClock(), INLINE) as auditor:
            assert auditor is None

    assert [(entry["log_level"], entry["event"]) for entry in logs] == [("warning", said)]
