"""Sets up the virtual environment of a checkout: ``python3 tools/set_up.py .venv constraints.txt``.

Every package has the version and one of the hashes that the file names. This runs on whatever
``python3`` is, so that one that is too old is told in a sentence: nothing here is newer than 3.7.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)  # pyproject.toml's requires-python
_PIN = re.compile(r"^(?P<name>[\w.-]+)==", re.MULTILINE)
# A requirement that pip has found: by its name, or as a file; or one that is not for this system.
_STEP = re.compile(
    r"^(?:Collecting|Requirement already satisfied:|Processing|Ignoring) (?:\S*/)?"
    r"(?P<name>\w+(?:-[a-z]\w*)*)"
)
_SAID_MAX = 15  # lines of pip that are shown when it fails


def main(folder: str, pins: str) -> int:
    if sys.version_info[:2] < OLDEST:
        return _refuse(
            f"proreus needs Python {OLDEST[0]}.{OLDEST[1]} or newer and {sys.executable} is "
            f"{sys.version_info[0]}.{sys.version_info[1]}: install one and name it, "
            "as in `make up PYTHON=python3.11`"
        )
    made = subprocess.run(
        [sys.executable, "-m", "venv", *_clear_flag(folder), folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        return _refuse(
            f"{sys.executable} cannot make a virtual environment "
            "(on Debian and Ubuntu install the package python3-venv):\n" + _last(made.stdout)
        )
    python = str(Path(folder, "bin", "python"))
    names = _PIN.findall(Path(pins).read_text())
    version = ".".join(map(str, sys.version_info[:3]))
    print(
        f"setting up {folder} with {sys.executable} ({version}): {len(names)} packages of {pins}, "
        "once",
        flush=True,
    )
    if not _install(python, ["--require-hashes", "-r", pins], len(names)):
        return 1
    print("building proreus", flush=True)
    return 0 if _install(python, ["--no-deps", "--no-build-isolation", "-e", "."], 0) else 1


def _clear_flag(folder: str) -> list[str]:
    """An environment of another interpreter is made anew: its links would stay, and load this one's
    libraries."""
    try:
        said = Path(folder, "pyvenv.cfg").read_text()
    except OSError:
        return []
    home = re.search(r"^home *= *(.*)$", said, re.MULTILINE)
    base = Path(getattr(sys, "_base_executable", sys.executable)).parent
    return [] if home is not None and Path(home[1].strip()) == base else ["--clear"]


def _install(python: str, what: list[str], count: int) -> bool:
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"]
    said, found = [], 0
    with subprocess.Popen(
        command + what, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        for line in pip.stdout or ():
            said.append(line)
            step = _STEP.match(line)
            if step and count:
                found += 1
                _show(f"  {found} of {count}: {step['name']}")
            elif line.startswith("Installing collected packages"):
                _show("  unpacking")
    _show("")
    if pip.returncode:
        _refuse("pip could not install the packages:\n" + _last("".join(said)))
    return pip.returncode == 0


def _show(text: str) -> None:
    """On a terminal only, over itself."""
    if sys.stdout.isatty():
        print(f"\r\033[K{text}", end="", flush=True)


def _last(text: str) -> str:
    return "\n".join(text.rstrip().splitlines()[-_SAID_MAX:])


def _refuse(why: str) -> int:
    print(why, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
