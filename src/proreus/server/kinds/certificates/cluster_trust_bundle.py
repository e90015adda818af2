"""ClusterTrustBundle: certificates to trust, of one signer or of none."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import NONE, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pem import PemBlock, pem_blocks
from proreus.server.kinds.parts.signers import bundle_name, check_signer
from proreus.server.resource import Lifecycle, Names, Resource, Rules, at_paths
from proreus.server.resource.printer import Cells, Printer

_BUNDLE = "spec.trustBundle"
_OMITTED = "<value omitted>"
_BUNDLE_MAX = 1024 * 1024


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_name(found, obj)
    _check_anchors(found, obj["spec"].get("trustBundle") or "")
    return found


def _check_name(found: Findings, obj: JsonObject) -> None:
    name, signer = obj["metadata"].get("name") or "", obj["spec"].get("signerName") or ""
    for why in bundle_name(name, signer):
        found.invalid("metadata.name", name, why)
    if signer:
        check_signer(found, "spec.signerName", signer)


def _check_anchors(found: Findings, text: str) -> None:
    if len(text.encode()) > _BUNDLE_MAX:
        found.append(field_error.too_long(_BUNDLE, _BUNDLE_MAX))
        return
    before = len(found)
    known: dict[bytes, list[int]] = {}
    for index, block in enumerate(pem_blocks(text.encode())):
        if fault := _fault_of_anchor(block):
            found.invalid(_BUNDLE, _OMITTED, f"entry {index} {fault}")
        else:
            known.setdefault(block.content, []).append(index)
    if len(found) > before:
        return
    if not known:
        found.invalid(_BUNDLE, _OMITTED, "at least one trust anchor must be provided")
    for places in known.values():
        if len(places) > 1:
            printed = " ".join(map(str, places))
            found.invalid(_BUNDLE, _OMITTED, f"duplicate trust anchor (indices [{printed}])")


def _fault_of_anchor(block: PemBlock) -> str:
    from cryptography.x509 import BasicConstraints, ExtensionNotFound, load_der_x509_certificate

    if block.kind != "CERTIFICATE":
        return f"has bad block type: {block.kind}"
    if block.has_headers:
        return "has PEM block headers"
    try:
        extensions = load_der_x509_certificate(block.content).extensions
        is_authority = extensions.get_extension_for_class(BasicConstraints).value.ca
    except ExtensionNotFound:
        is_authority = False
    except ValueError:
        return "does not parse as X.509"
    return "" if is_authority else "does not have the CA bit set"


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_name(found, new)
    if new["spec"].get("trustBundle") != old["spec"].get("trustBundle"):
        _check_anchors(found, new["spec"].get("trustBundle") or "")
    found.immutable(
        "spec.signerName", new["spec"].get("signerName") or "", old["spec"].get("signerName") or ""
    )
    return found


def _fill(obj: Json, _: float) -> Cells:
    return [name_of(obj), (obj.get("spec") or {}).get("signerName") or NONE]


RESOURCES = (
    Resource(
        names=Names.of("certificates.k8s.io", "v1", "ClusterTrustBundle", "clustertrustbundles"),
        namespaced=False,
        lifecycle=Lifecycle(unconditional_update=False),
        selectable=at_paths("spec.signerName"),
        name_rule=names.path_segment,
        rules=Rules(validate=_validate, validate_update=_validate_update),
        printer=Printer.of(_fill, "Name", "SignerName"),
    ),
)
