"""Which volume a claim gets: one that is reserved for it, else the smallest that suits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from proreus.cluster.volumes.views import Volume, VolumeClaim

AVAILABLE = "Available"


def best_match(
    claim: VolumeClaim,
    volumes: Iterable[Volume],
    *,
    fits_node: Callable[[Volume], bool] | None = None,
    is_delayed: bool = False,
    taken: Container[str] = (),
) -> Volume | None:
    """``fits_node``: whether a volume can be mounted where the pod shall run; None while that is
    not decided, and then a claim whose binding ``is_delayed`` gets only what is reserved for it.
    ``taken``: names of volumes that others are about to get."""
    free: list[Volume] = []
    for volume in volumes:
        suits = (
            not volume.is_deleting
            and claim.modes <= volume.modes
            and claim.volume_mode == volume.volume_mode
            and claim.attributes_class == volume.attributes_class
            and claim.request <= volume.capacity
        )
        if not suits:
            continue
        fits = fits_node is None or fits_node(volume)
        if volume.is_for(claim):
            return volume if fits else None
        if fits and _is_free(claim, volume) and volume.name not in taken:
            free.append(volume)
    if fits_node is None and is_delayed:
        return None
    # Fewer access modes first: what only it can do is kept for others.
    return min(free, key=lambda one: (len(one.modes), one.capacity, one.name), default=None)


def mismatch(claim: VolumeClaim, volume: Volume) -> str:
    """Why a volume that the claim names cannot be its own; empty: it can."""
    if volume.capacity < claim.request:
        return "requested PV is too small"
    if volume.class_name != (claim.class_name or ""):
        return "storageClassName does not match"
    if volume.attributes_class != claim.attributes_class:
        return "VolumeAttributesClassName does not match"
    if volume.volume_mode != claim.volume_mode:
        return "incompatible volumeMode"
    if not claim.modes <= volume.modes:
        return "incompatible accessMode"
    return ""


def _is_free(claim: VolumeClaim, volume: Volume) -> bool:
    return (
        volume.phase == AVAILABLE
        and volume.claim is None
        and volume.class_name == (claim.class_name or "")
        and (claim.selector is None or claim.selector.matches(volume.labels))
    )
