"""Which kubectl is here, and what a person should do about it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE

# exec, attach and port-forward go over WebSocket by default since then.
OLDEST_MINOR = 31
_TIMEOUT_S = 5.0
_NONE = (
    "kubectl is not here: install it (Debian: kubernetes-client, macOS: brew install kubectl), "
    "or try `proreus status`"
)


async def advice() -> str:
    """What is wrong with the kubectl of this machine; empty: nothing."""
    found = shutil.which("kubectl")
    return _NONE if found is None else advice_on(await _version(found))


def advice_on(version: str) -> str:
    """``version``: as kubectl says it, ``v1.31.2``; empty: it does not."""
    numbers = re.match(r"v1\.(\d+)", version)
    if numbers is None or int(numbers[1]) >= OLDEST_MINOR:
        return ""
    return (
        f"kubectl is {version}: exec, attach and port-forward need 1.{OLDEST_MINOR} or newer, "
        "everything else works"
    )


async def _version(program: str) -> str:
    """Empty if it does not say within its time."""
    try:
        process = await asyncio.create_subprocess_exec(
            program, "version", "--client", "-o", "json", stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            said, _ = await process.communicate()
        return str(json.loads(said)["clientVersion"]["gitVersion"])
    except (TimeoutError, ValueError, KeyError, TypeError):
        return ""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
