"""Kubernetes' extensions of CEL, declared to the checker: names and types of functions."""

from __future__ import annotations

from itertools import product

from proreus.lazy_dataclass import dataclass

_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMED = ("int", "uint", "double", "duration")
_COMPARED = ("_<_", "_<=_", "_>_", "_>=_")
_NUMBERS = ("int", "uint", "double")
_URL, _IP, _CIDR = "kubernetes.URL", "net.IP", "net.CIDR"
_QUANTITY, _SEMVER, _FORMAT = "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.NamedFormat"
AUTHORIZER, RESOURCE_CHECK, _PATH_CHECK, _GROUP_CHECK, _DECISION = (
    f"kubernetes.authorization.{name}"
    for name in ("Authorizer", "ResourceCheck", "PathCheck", "GroupCheck", "Decision")
)
OPAQUE = (
    _URL, _IP, _CIDR, _QUANTITY, _SEMVER, _FORMAT,
    AUTHORIZER, RESOURCE_CHECK, _PATH_CHECK, _GROUP_CHECK, _DECISION,
)  # fmt: skip
FORMATS = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix",
    "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date",
    "datetime",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Signature:
    """Types are spelled as the library reads them: ``list<string>``, ``~A`` for any."""

    function: str
    result: str
    parameters: tuple[str, ...]
    is_member: bool = False


def signatures() -> list[Signature]:
    return [
        *_lists(), *_texts(), *_addresses(), *_amounts(), *_formats(), *_mixed_numbers(),
        *_authorization(),
    ]  # fmt: skip


def _member(function: str, result: str, *parameters: str) -> Signature:
    return Signature(function, result, parameters, is_member=True)


def _lists() -> list[Signature]:
    found = [_member("isSorted", "bool", f"list<{one}>") for one in _ORDERED]
    found += [_member("sum", one, f"list<{one}>") for one in _SUMMED]
    for name in ("min", "max"):
        found += [_member(name, one, f"list<{one}>") for one in _ORDERED]
    for name in ("indexOf", "lastIndexOf"):
        found.append(_member(name, "int", "list<~A>", "~A"))
    return found


def _texts() -> list[Signature]:
    found = [
        _member("find", "string", "string", "string"),
        _member("findAll", "list<string>", "string", "string"),
        _member("findAll", "list<string>", "string", "string", "int"),
        Signature("isURL", "bool", ("string",)),
        Signature("url", _URL, ("string",)),
        _member("getQuery", "map<string,list<string>>", _URL),
    ]
    parts = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
    return found + [_member(part, "string", _URL) for part in parts]


def _addresses() -> list[Signature]:
    found = [
        Signature("isIP", "bool", ("string",)),
        Signature("isCIDR", "bool", ("string",)),
        Signature("ip", _IP, ("string",)),
        Signature("cidr", _CIDR, ("string",)),
        Signature("ip.isCanonical", "bool", ("string",)),
        _member("family", "int", _IP),
        _member("ip", _IP, _CIDR),
        _member("masked", _CIDR, _CIDR),
        _member("prefixLength", "int", _CIDR),
        Signature("string", "string", (_IP,)),
        Signature("string", "string", (_CIDR,)),
    ]
    traits = ("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast",
              "isGlobalUnicast")  # fmt: skip
    found += [_member(trait, "bool", _IP) for trait in traits]
    found += [_member("containsIP", "bool", _CIDR, other) for other in (_IP, "string")]
    found += [_member("containsCIDR", "bool", _CIDR, other) for other in (_CIDR, "string")]
    return found


def _amounts() -> list[Signature]:
    found = [
        Signature("quantity", _QUANTITY, ("string",)),
        Signature("isQuantity", "bool", ("string",)),
        Signature("sign", "int", (_QUANTITY,)),  # no member, unlike the others
        _member("isInteger", "bool", _QUANTITY),
        _member("asInteger", "int", _QUANTITY),
        _member("asApproximateFloat", "double", _QUANTITY),
        Signature("semver", _SEMVER, ("string",)),
        Signature("semver", _SEMVER, ("string", "bool")),
        Signature("isSemver", "bool", ("string",)),
        Signature("isSemver", "bool", ("string", "bool")),
    ]
    for name in ("add", "sub"):
        found += [_member(name, _QUANTITY, _QUANTITY, other) for other in (_QUANTITY, "int")]
    found += [_member(name, "int", _SEMVER) for name in ("major", "minor", "patch")]
    for kind in (_QUANTITY, _SEMVER):
        found += [_member(name, "bool", kind, kind) for name in ("isGreaterThan", "isLessThan")]
        found.append(_member("compareTo", "int", kind, kind))
    return found


def _formats() -> list[Signature]:
    return [
        *(Signature(f"format.{name}", _FORMAT, ()) for name in FORMATS),
        Signature("format.named", f"optional_type<{_FORMAT}>", ("string",)),
        _member("validate", "optional_type<list<string>>", _FORMAT, "string"),
    ]


def _authorization() -> list[Signature]:
    parts = ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    return [
        _member("path", _PATH_CHECK, AUTHORIZER, "string"),
        _member("group", _GROUP_CHECK, AUTHORIZER, "string"),
        _member("serviceAccount", AUTHORIZER, AUTHORIZER, "string", "string"),
        _member("resource", RESOURCE_CHECK, _GROUP_CHECK, "string"),
        *(_member(part, RESOURCE_CHECK, RESOURCE_CHECK, "string") for part in parts),
        *(_member("check", _DECISION, kind, "string") for kind in (_PATH_CHECK, RESOURCE_CHECK)),
        *(_member(name, "bool", _DECISION) for name in ("allowed", "errored")),
        *(_member(name, "string", _DECISION) for name in ("reason", "error")),
    ]


def _mixed_numbers() -> list[Signature]:
    """Numbers of different kinds can be ordered."""
    return [
        Signature(name, "bool", (left, right))
        for name in _COMPARED
        for left, right in product(_NUMBERS, _NUMBERS)
        if left != right
    ]
