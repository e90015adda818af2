"""Which build of this Python runs fastest here: ``python3 tools/fastest_python.py`` prints it.

The same version, built without profile-guided optimization, takes up to half as long again for
the same work. pyenv builds it so by default; distributions and container images do not. Nothing
says how an interpreter was built, so those that are found are timed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# What a virtual environment and this package need, then the best of some timings.
_PROBE = """
import ensurepip, sqlite3, ssl, sys, time, venv
def work():
    seen = {}
    for number in range(30_000):
        key = str(number % 100)
        seen[key] = seen.get(key, 0) + len((key, number))
times = []
for _ in range(7):
    begun = time.process_time()
    work()
    times.append(time.process_time() - begun)
print(min(times), *sys.version_info[:2])
"""
_WORTH = 1.15  # times as fast: less is noise
_ROUNDS = 3
_TIME_MAX_S = 60


def fastest() -> str:
    """The interpreter that runs this, or another build of its version that is clearly faster."""
    own = sys.executable
    timed = dict.fromkeys([own, *_others(own)], float("inf"))
    for _ in range(_ROUNDS):  # in turns, as others may use the machine
        for path, seconds in timed.items():
            timed[path] = min(seconds, _seconds(path))
    best = min(timed, key=timed.__getitem__)
    return best if timed[best] * _WORTH < timed[own] else own


def _others(own: str) -> list[str]:
    """Of the same version by their names, wherever programs are, and the system's own. One that
    stands for another, as pyenv's do, is that other."""
    names = ["python3", f"python{sys.version_info[0]}.{sys.version_info[1]}"]
    folders = [*os.get_exec_path(), "/usr/bin", "/usr/local/bin"]
    found: dict[str, str] = {}
    for folder in folders:
        for name in names:
            path = shutil.which(name, path=folder)
            if path is not None:
                found.setdefault(os.path.realpath(path), path)
    behind = {_run(path, "import sys; print(sys.executable)").strip() for path in found.values()}
    return sorted(behind - {"", own})


def _seconds(path: str) -> float:
    """For the work; infinite if it is of another version, lacks something or does not run."""
    seconds, *version = _run(path, _PROBE).split() or ["inf"]
    is_same = version == [str(part) for part in sys.version_info[:2]]
    return float(seconds) if is_same else float("inf")


def _run(path: str, program: str) -> str:
    """What it prints; nothing if it fails."""
    try:
        done = subprocess.run(
            [path, "-I", "-c", program], capture_output=True, text=True, timeout=_TIME_MAX_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


if __name__ == "__main__":
    print(fastest())
