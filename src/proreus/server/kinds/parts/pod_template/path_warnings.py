"""Files of one volume that are in each other's way: the last one of a path wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from proreus.api.json_types import Json

_COMPARED_MAX = 256  # of one volume: a pod has a few, and all pairs of thousands take long


def overlapping_paths(volumes: Iterable[Json]) -> Iterator[str]:
    for volume in volumes:
        for key, printed, name in (
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ):
            if source := volume.get(key):
                yield from _overlaps(_paths(source), _text(volume, printed, source, name))
        if source := volume.get("projected"):
            yield from _projected(volume, source.get("sources") or ())


def _paths(source: Json) -> list[str]:
    return [file.get("path") or "" for file in source.get("items") or ()]


def _text(volume: Json, printed: str, source: Json, name: str) -> str:
    of = f' "{source.get(name) or ""}"' if name else ""
    return f'volume "{volume.get("name")}" ({printed}{of}): overlapping paths'


def _projected(volume: Json, sources: Iterable[Json]) -> Iterator[str]:
    known: set[str] = set()
    for projection in sources:
        if not projection:
            yield f'volume "{volume.get("name")}" (Projected) has no sources provided'
            continue
        paths, text = _projection(volume, projection)
        if not paths:
            continue
        yield from _overlaps(paths, text)
        yield from _overlaps(sorted([*set(paths), *known]), text)
        known |= set(paths)


def _projection(volume: Json, projection: Json) -> tuple[list[str], str]:
    for key, printed, name in (
        ("configMap", "Projected ConfigMap", "name"),
        ("secret", "Projected Secret", "name"),
        ("downwardAPI", "Projected DownwardAPI", ""),
    ):
        if (source := projection.get(key)) is not None and source.get("items"):
            return _paths(source), _text(volume, printed, source, name)
    if (token := projection.get("serviceAccountToken")) is not None:
        text = _text(volume, "Projected ServiceAccountToken", token, "")
        return [token.get("path") or ""], text
    if (bundle := projection.get("clusterTrustBundle")) is not None:
        by = "name" if bundle.get("name") is not None else "signerName"
        text = _text(volume, "Projected ClusterTrustBundle", bundle, by)
        return [bundle.get("path") or ""], text
    return [], ""


def _overlaps(paths: Sequence[str], text: str) -> Iterator[str]:
    seen: list[str] = []
    for path in (each.rstrip("/") for each in paths[:_COMPARED_MAX]):
        for other in seen:
            if path and other and _contains(path, other):
                yield f'{text}: "{path}" with "{other}"'
                break
        if path not in seen:
            seen.append(path)


def _contains(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
