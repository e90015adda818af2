"""Volumes that are files made of objects: config maps, secrets, fields of the pod, tokens."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.label_selectors import check_selector
from proreus.server.kinds.parts.pod_template.environment import (
    FILE_FIELDS,
    check_field_ref,
    check_resource_ref,
)
from proreus.server.kinds.parts.pod_template.mounts import check_relative_path
from proreus.server.kinds.parts.signers import (
    bundle_name,
    check_signer,
    longest_certificate_s,
    signer_in_name,
)

_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_MIN_S = 3600
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"


def check_config_map(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.name", source.get("name"))
    _check_mode(found, f"{at}.defaultMode", source.get("defaultMode"))
    _check_items(found, f"{at}.items", source.get("items"))


def check_secret(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.secretName", source.get("secretName"))
    _check_mode(found, f"{at}.defaultMode", source.get("defaultMode"))
    _check_items(found, f"{at}.items", source.get("items"))


def _check_items(found: Findings, at: str, entries: list[Json] | None) -> None:
    for where, entry in items(entries, at):
        _check_item(found, where, entry)


def _check_item(found: Findings, at: str, entry: Json) -> None:
    found.require(f"{at}.key", entry.get("key"))
    _check_file_path(found, f"{at}.path", entry.get("path") or "")
    _check_mode(found, f"{at}.mode", entry.get("mode"))


def _check_file_path(found: Findings, at: str, path: str) -> None:
    if found.require(at, path):
        check_relative_path(found, at, path)
        if path.startswith("..") and not path.startswith("../"):
            found.invalid(at, path, "must not start with '..'")


def _check_mode(found: Findings, at: str, mode: int | None) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        found.invalid(at, mode, _MODE_TEXT)


def check_downward(found: Findings, at: str, source: Json) -> None:
    _check_mode(found, f"{at}.defaultMode", source.get("defaultMode"))
    for file in source.get("items") or ():
        _check_file(found, at, file)


def _check_file(found: Findings, at: str, file: Json) -> None:
    _check_file_path(found, f"{at}.path", file.get("path") or "")
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        check_field_ref(found, f"{at}.fieldRef", field, FILE_FIELDS)
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.invalid(at, "resource", why)
    elif resource is not None:
        check_resource_ref(found, f"{at}.resourceFieldRef", resource, in_volume=True)
    else:
        found.require(at, None, "one of fieldRef and resourceFieldRef is required")
    _check_mode(found, f"{at}.mode", file.get("mode"))


# --- projections of several at once


def check_projected(found: Findings, at: str, source: Json) -> None:
    _check_mode(found, f"{at}.defaultMode", source.get("defaultMode"))
    paths = _Paths(found, at)
    for where, projection in items(source.get("sources"), f"{at}.sources"):
        for key in ("secret", "configMap"):
            if (part := projection.get(key)) is not None:
                _check_object(found, f"{where}.{key}", part, paths)
        if (part := projection.get("downwardAPI")) is not None:
            for file in part.get("items") or ():
                _check_file(found, f"{where}.downwardAPI", file)
                if path := file.get("path"):
                    paths.add(path, path)
        if (part := projection.get("serviceAccountToken")) is not None:
            _check_token(found, f"{where}.serviceAccountToken", part, at)
        if (part := projection.get("clusterTrustBundle")) is not None:
            _check_bundle(found, f"{where}.clusterTrustBundle", part)
            # Two bundles that name no file at all are in each other's way, too.
            paths.add(part.get("path") or "", part.get("path") or "")
        if (part := projection.get("podCertificate")) is not None:
            _check_certificate(found, f"{where}.podCertificate", part, paths)
        if sum(value is not None for value in projection.values()) > 1:
            found.forbid(where, "may not specify more than 1 volume type per source")


class _Paths:
    """All sources share one directory."""

    def __init__(self, found: Findings, at: str) -> None:
        self._found, self._at = found, at
        self._seen: set[str] = set()

    def add(self, path: str, printed: str) -> None:
        if path in self._seen:
            self._found.invalid(self._at, printed, "conflicting duplicate paths")
        self._seen.add(path)


def _check_object(found: Findings, at: str, part: Json, paths: _Paths) -> None:
    found.require(f"{at}.name", part.get("name"))
    for where, entry in items(part.get("items"), f"{at}.items"):
        _check_item(found, where, entry)
        if path := entry.get("path"):
            paths.add(path, part.get("name") or "")


def _check_token(found: Findings, at: str, token: Json, volume_at: str) -> None:
    seconds, place = token.get("expirationSeconds", 3600), f"{at}.expirationSeconds"
    if seconds < 600:
        found.invalid(place, seconds, "may not specify a duration less than 10 minutes")
    if seconds > 1 << 32:
        found.invalid(place, seconds, "may not specify a duration larger than 2^32 seconds")
    # The path is named as the whole volume's; so does Kubernetes.
    _check_file_path(found, f"{volume_at}.path", token.get("path") or "")


def _check_bundle(found: Findings, at: str, bundle: Json) -> None:
    name, signer = bundle.get("name"), bundle.get("signerName")
    if name is not None and signer is not None:
        printed = {
            "Name": name,
            "SignerName": signer,
            "LabelSelector": bundle.get("labelSelector"),
            "Optional": bundle.get("optional"),
            "Path": bundle.get("path") or "",
        }
        found.invalid(at, printed, "only one of name and signerName may be used")
    elif name is not None:
        found.require(f"{at}.name", name, "must be a valid object name")
        for why in bundle_name(name, signer_in_name(name)):
            found.invalid(f"{at}.name", name, f"not a valid clustertrustbundlename: {why}")
        if (selector := bundle.get("labelSelector")) is not None:
            why = "labelSelector must be unset if name is specified"
            found.invalid(f"{at}.labelSelector", selector, why)
    elif signer is not None:
        found.require(f"{at}.signerName", signer, "must be a valid signer name")
        check_signer(found, f"{at}.signerName", signer)
        check_selector(found, f"{at}.labelSelector", bundle.get("labelSelector"))
    else:
        found.require(at, None, "either name or signerName must be specified")
    _check_file_path(found, f"{at}.path", bundle.get("path") or "")


def _check_certificate(found: Findings, at: str, certificate: Json, paths: _Paths) -> None:
    signer = certificate.get("signerName") or ""
    check_signer(found, f"{at}.signerName", signer)
    found.one_of(f"{at}.keyType", certificate.get("keyType") or "", _KEY_TYPES)
    if (seconds := certificate.get("maxExpirationSeconds")) is not None:
        longest_s = longest_certificate_s(signer)
        text = "if provided, maxExpirationSeconds must be"
        if seconds < _CERTIFICATE_MIN_S:
            found.invalid(f"{at}.maxExpirationSeconds", seconds, f"{text} >= {_CERTIFICATE_MIN_S}")
        if seconds > longest_s:
            found.invalid(f"{at}.maxExpirationSeconds", seconds, f"{text} <= {longest_s}")
    named = [
        (field, path)
        for field in ("credentialBundlePath", "keyPath", "certificateChainPath")
        if (path := certificate.get(field))
    ]
    for field, path in named:
        _check_file_path(found, f"{at}.{field}", path)
        paths.add(path, path)
    if not named:
        why = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        found.require(at, None, why)
