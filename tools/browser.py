"""Installs Chromium for the tests that drive a page, where that is possible.

Where it is not (no apt-get, not root, no network) those tests are skipped, and the run says so at
its end; nothing fails here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGE = "chromium"
_TIMEOUT_S = 600


def main() -> None:
    if shutil.which(PACKAGE):
        return
    if not shutil.which("apt-get") or os.geteuid() != 0:
        _say("it is not here, and only root on Debian or Ubuntu can install it")
        return
    print(f"installing {PACKAGE} for the tests of pages", flush=True)
    if not (_apt("install") or (_apt("update") and _apt("install"))):
        _say(f"apt-get could not install the package {PACKAGE}")


def _apt(step: str) -> bool:
    what = ["install", "--yes", "--no-install-recommends", PACKAGE] if step == "install" else [step]
    try:
        done = subprocess.run(
            ["apt-get", "-qq", *what],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _say(why: str) -> None:
    print(f"{PACKAGE}: {why}; tests of pages will be skipped", file=sys.stderr)


if __name__ == "__main__":
    main()
