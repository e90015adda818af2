"""The server answers as a real kube-apiserver 1.37 answered: recorded exchanges, replayed.

``known_differences.json`` names every case that is not equal and says why. The list only shrinks:
a difference that is not listed fails, and so does a listed one that has become equal.
"""

from __future__ import annotations

import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from tests.running_server import RunningServer

HERE = Path(__file__).parent
RECORDINGS = HERE / "recordings"
# These mostly wait; the others are quick and some look at what belongs to no namespace.
THREADS = {"11_watch": 12, "50_crd": 8, "51_custom_objects": 8}
FIRST_OF_USERS = "70"
FILES = sorted(file.stem for file in (RECORDINGS / "cases").glob("*.json"))


@cache
def probe() -> Any:
    """The runner that made the recordings."""
    spec = importlib.util.spec_from_file_location("probe", RECORDINGS / "probe.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def reference() -> dict[str, Any]:
    """``reference_of_users.jsonl`` is of a server with several users (``conftest.USERS``)."""
    files = ("reference.jsonl", "reference_of_users.jsonl")
    lines = [line for file in files for line in (RECORDINGS / file).read_text().splitlines()]
    return {recorded["name"]: recorded["results"] for recorded in map(json.loads, lines)}


def differences(server: RunningServer, case: dict[str, Any]) -> list[str]:
    """What this server answers otherwise, step by step."""
    recorded = reference()[case["name"]]
    answers = probe().run_case(probe().Server(server.url, "admin-token"), patient(case, recorded))
    found: list[str] = []
    for want, got in zip(recorded, answers, strict=True):
        for side in (want, got):
            kept = ("content-type",)
            side["headers"] = {k: v for k, v in side["headers"].items() if k in kept}
        compared = (
            {k: s[k] for k in ("status", "headers", "show", "body") if k in s} for s in (want, got)
        )
        found += [f"{want['step']}: {text}" for text in probe().differences(*compared)]
    return found


def patient(case: dict[str, Any], recorded: list[dict[str, Any]]) -> dict[str, Any]:
    """The case, in which watches wait for as many events as were recorded."""
    asked = [step for step in case["steps"] if "sleep" not in step and not step.get("silent")]
    for step, answer in zip(asked, recorded, strict=True):
        if "watch" in step and isinstance(answer["body"], list):
            step["watch"]["expected"] = len(answer["body"])
    return case


@pytest.mark.timeout(300)
@pytest.mark.parametrize("file", FILES)
def test_recorded_exchanges_are_answered_alike(request: pytest.FixtureRequest, file: str) -> None:
    is_of_users = file >= FIRST_OF_USERS
    server: RunningServer = request.getfixturevalue("server_of_users" if is_of_users else "server")
    known: dict[str, str] = json.loads((HERE / "known_differences.json").read_text())
    cases = list(probe().load(RECORDINGS / "cases", f"^{file}: "))

    alone = [case for case in cases if sees_other_cases(case)]
    beside = [case for case in cases if not sees_other_cases(case)]
    found = {case["name"]: differences(server, case) for case in alone}
    with ThreadPoolExecutor(THREADS.get(file, 1)) as pool:
        answered = pool.map(partial(differences, server), beside)
        found |= {case["name"]: each for case, each in zip(beside, answered, strict=True)}
    found = {name: different for name, different in found.items() if different}

    unknown = {name: texts[:3] for name, texts in found.items() if name not in known}
    healed = [n for n in known if n.startswith(f"{file}: ") and n not in found]
    assert not unknown, f"answered otherwise than recorded: {json.dumps(unknown, indent=1)}"
    assert not healed, f"equal now, take them off the list: {healed}"


def sees_other_cases(case: dict[str, Any]) -> bool:
    """Discovery lists the groups of all definitions."""
    return any(step.get("path") == "/apis" for step in case["steps"])


def test_at_least_95_of_100_cases_are_equal() -> None:
    """The known differences stay the exception."""
    known: dict[str, str] = json.loads((HERE / "known_differences.json").read_text())
    for file in FILES:
        cases = [name for name in reference() if name.startswith(f"{file}: ")]
        different = [name for name in cases if name in known]
        assert len(different) <= len(cases) * 0.05, f"{file}: {len(different)} differ"
    assert all(known.values()), "every known difference has a reason"
