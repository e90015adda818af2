"""The certificates that a volume shows of cluster trust bundles. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from proreus.api.json_types import Json
from proreus.api.object import KubeObject, plain_field
from proreus.api.selectors.labels import LabelSelector
from proreus.cluster.kubelet.runtimes.pod_spec.references import (
    ConfigProblem,
    Objects,
    Reference,
)

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_CERTIFICATE = re.compile(f"{_BEGIN}([^-]*){_END}")
_LINE = 64


def trust_anchors(source: Json, objects: Objects) -> bytes:
    """Each certificate once, as PEM; nothing, if that is optional. Raises ``ConfigProblem``."""
    name = source.get("name") or ""
    if name:
        one = objects.get(Reference("clustertrustbundle", name))
        found = [one] if one is not None else []
        problem = f'clustertrustbundle.certificates.k8s.io "{name}" not found'
    else:
        found = list(_selected(source, objects))
        problem = "combination of signerName and labelSelector matched zero ClusterTrustBundles"
    if not found and not source.get("optional"):
        raise ConfigProblem(problem)
    return "".join(_normalized(found)).encode()


def _selected(source: Json, objects: Objects) -> Iterator[KubeObject]:
    """Those of a signer whose labels match. No selector selects nothing, an empty one all."""
    labels = source.get("labelSelector")
    if labels is None:
        return
    selector = LabelSelector.from_object(labels)
    for reference, bundle in sorted(objects.items(), key=lambda entry: entry[0].name):
        if reference.kind != "clustertrustbundle":
            continue
        signer = plain_field(bundle, "spec").get("signerName")
        if signer == source.get("signerName") and selector.matches(bundle.labels):
            yield bundle


def _normalized(bundles: Iterable[KubeObject]) -> Iterator[str]:
    bodies = dict.fromkeys(
        "".join(match[1].split())
        for bundle in bundles
        for match in _CERTIFICATE.finditer(str(plain_field(bundle, "spec").get("trustBundle")))
    )
    for body in bodies:
        lines = (body[at : at + _LINE] for at in range(0, len(body), _LINE))
        yield "\n".join((_BEGIN, *lines, _END, ""))
