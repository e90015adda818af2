"""Definitions like those of well-known projects, ten thousand lines each, as users paste them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import yaml

from benchmarks.well_known import definitions
from tests.custom.operators import PATIENCE, Kubectl

KINDS = definitions()


@pytest.mark.parametrize("project", KINDS)
def test_a_definition_of_thousands_of_lines_is_applied_and_served(
    run_kubectl: Kubectl, project: str
) -> None:
    body: dict[str, Any] = KINDS[project]
    text = yaml.safe_dump(body)
    assert len(text.splitlines()) > 5_000
    name, names = body["metadata"]["name"], body["spec"]["names"]
    version = body["spec"]["versions"][0]["name"]

    run_kubectl("apply", "--server-side", "-f", "-", stdin=text)
    run_kubectl("wait", "--for=condition=established", f"crd/{name}", PATIENCE)
    asked = f"--api-version={body['spec']['group']}/{version}"
    fields = run_kubectl("explain", names["plural"], asked)
    spec = orjson.loads(run_kubectl("get", "crd", name, "-o", "json"))["spec"]

    assert "spec" in fields
    assert spec["versions"][0]["schema"] == body["spec"]["versions"][0]["schema"]
    run_kubectl("delete", "crd", name, PATIENCE)
