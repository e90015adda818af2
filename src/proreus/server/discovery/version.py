"""``/version``: the version of Kubernetes this server is compatible with, and its own."""

from __future__ import annotations

import platform

from proreus.api.wire import json

MAJOR, MINOR = "1", "37"
GIT_VERSION = f"v{MAJOR}.{MINOR}.0+proreus"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def version_document() -> bytes:
    """Indented, as Kubernetes answers it."""
    return json.encode_pretty(version_info())


def version_info() -> dict[str, str]:
    """The fields' names are Kubernetes', whatever they say."""
    from importlib import metadata  # here, because it is slow to load and rarely needed

    machine = _MACHINES.get(platform.machine(), platform.machine())
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": str(int(MINOR) - 1),
        "gitVersion": GIT_VERSION,
        "gitCommit": f"proreus-{metadata.version('proreus')}",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{machine}",
    }
