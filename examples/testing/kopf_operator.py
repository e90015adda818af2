"""A kopf operator to be tested: every labelled ConfigMap gets an annotation."""

from __future__ import annotations

from typing import Any

import kopf


@kopf.on.create("configmaps", labels={"stamp": "yes"})
def stamp(patch: kopf.Patch, **_: Any) -> None:
    patch.metadata.annotations["example.com/stamped"] = "yes"
