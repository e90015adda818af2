"""Classes of storage, as tables print them."""

from __future__ import annotations

import pytest

from tests.unit.server.kinds.printing import cells


@pytest.mark.parametrize(
    ("kind", "annotation"),
    [
        ("StorageClass", "storageclass.kubernetes.io/is-default-class"),
        ("StorageClass", "storageclass.beta.kubernetes.io/is-default-class"),
        ("VolumeAttributesClass", "volumeattributesclass.alpha.kubernetes.io/is-default-class"),
    ],
)
def test_the_default_class_is_marked(kind: str, annotation: str) -> None:
    def name(is_default: str) -> str:
        return str(cells("storage.k8s.io", kind, {}, annotations={annotation: is_default})[0])

    assert name("true") == "x (default)"
    assert name("True") == "x"
