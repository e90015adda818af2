"""Image references."""

from __future__ import annotations


def pull_policy(image: str) -> str:
    """Only an image that is pinned by a tag or a digest may be reused."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if tag == "latest" or (not tag and not digest):
        return "Always"
    return "IfNotPresent"
