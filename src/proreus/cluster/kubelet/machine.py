"""This machine as a node: what it has and what it runs."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from proreus.cluster.kubelet.addresses import NodeAddresses
from proreus.cluster.kubelet.node import SystemInfo

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}
_PODS = "110"


def machine_capacity(folder: Path) -> dict[str, str]:
    """``folder`` is on the disk that pods write to."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{memory // 1024}Ki",
        "ephemeral-storage": f"{shutil.disk_usage(folder).total // 1024}Ki",
        "pods": _PODS,
    }


def machine_system() -> SystemInfo:
    this = os.uname()
    return SystemInfo(
        runtime="process://1",
        architecture=_ARCHITECTURES.get(this.machine, this.machine),
        kernel=this.release,
        os_image=_os_image(),
        machine_id=_line("/etc/machine-id"),
        boot_id=_line("/proc/sys/kernel/random/boot_id"),
    )


def loopback_addresses(folder: Path, host_ip: str) -> NodeAddresses:
    """Every pod has a loopback address of its own, so that many can listen on the same port; which
    range depends on the folder, so that clusters on one machine hardly collide."""
    digest = hashlib.sha256(os.fsencode(folder.absolute())).digest()
    return NodeAddresses(f"127.{64 + digest[0] % 128}.{digest[1]}.0/24", host_ip)


def _os_image() -> str:
    for line in _text("/etc/os-release").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip('"')
    return "Linux"


def _line(path: str) -> str:
    return _text(path).strip()


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
