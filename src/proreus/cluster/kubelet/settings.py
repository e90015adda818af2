"""How a kubelet is set up. Light: commands read it before they load a kubelet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

RuntimeName = Literal["simulated", "process"]
NODE_PREFIX = "system:node:"  # of a node's user name
RUNTIMES: tuple[RuntimeName, ...] = ("simulated", "process")


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    """``folder`` keeps the endpoint's key and, with the process runtime, everything of the pods.
    ``host`` is where the endpoint listens. A node's lease is renewed four times while it lasts.
    ``missing_images``: patterns of images that simulated nodes cannot pull. ``workers``: how many
    pods of a node are worked on at once, each over a connection."""

    runtime: RuntimeName = "simulated"
    folder: Path | None = None
    host: str = "127.0.0.1"
    lease_s: int = 40
    missing_images: tuple[str, ...] = ()
    workers: int = 4


def node_names(count: int, prefix: str = "node") -> list[str]:
    return [f"{prefix}-{number}" for number in range(1, count + 1)]
