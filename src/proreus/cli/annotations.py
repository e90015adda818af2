"""Annotations of simulated pods, as a chapter of ``--help``."""

from __future__ import annotations

from proreus.cluster.kubelet.runtimes.simulated.annotations import ANNOTATIONS, DOMAIN


def described_annotations() -> str:
    rows = [(f"{DOMAIN}/{one.name}: {one.values[0]}", one) for one in ANNOTATIONS]
    width = max(len(row) for row, _ in rows)
    lines = [f"  {row:<{width}}  {one.about}; default: {one.default}".rstrip() for row, one in rows]
    about = "Annotations of simulated pods (NAME.proreus.dev/…: of the container NAME alone):"
    return "\b\n" + "\n".join([about, *lines])
