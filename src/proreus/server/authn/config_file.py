"""The configuration of authentication: YAML → issuers, and who may be anonymous.

It is Kubernetes' ``AuthenticationConfiguration``, refused in the words of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values.urls import url_fault
from proreus.lazy_dataclass import dataclass
from proreus.server.authn.anonymous import Anonymous
from proreus.server.authn.authorities import Authorities
from proreus.server.authn.jwt.config import (
    ClaimMappings,
    Condition,
    Issuer,
    JwtConfig,
    PrefixedClaim,
)
from proreus.server.authn.jwt.expressions import ClaimsExpression, user_condition
from proreus.server.cel.admission import CompiledExpression, ExpressionInvalid
from proreus.server.config_files.fields import ConfigFields, ConfigFileInvalid, decode_config
from proreus.server.kinds.parts.findings import Findings

_API_VERSIONS = ("apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1")
_KIND = "AuthenticationConfiguration"
_JWT = ("issuer", "claimValidationRules", "claimMappings", "userValidationRules")
_ISSUER = ("url", "discoveryURL", "certificateAuthority", "audiences", "audienceMatchPolicy",
           "egressSelectorType")  # fmt: skip
_RULE = ("claim", "requiredValue", "expression", "message")
_PREFIXED = ("claim", "prefix", "expression")
_ISSUERS_MAX = 64
_MATCH_ANY = "MatchAny"
_BOTH = "claim and expression can't both be set"
_VERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "
    "claims.email is used in claimMappings.username.expression"
)


@dataclass(frozen=True, slots=True)
class AuthenticationConfig:
    """``anonymous`` None: the file says nothing about it."""

    jwt: tuple[JwtConfig, ...] = ()
    anonymous: Anonymous | None = None


def parse_config(text: bytes, disallowed_issuers: Sequence[str] = ()) -> AuthenticationConfig:
    """``disallowed_issuers``: whose tokens are somebody else's. Raises ConfigFileInvalid."""
    fields = decode_config(text, _API_VERSIONS, _KIND, ("jwt", "anonymous"))
    entries = list(fields.each("jwt", _JWT))
    faults: list[FieldError] = []
    if len(entries) > _ISSUERS_MAX:
        faults.append(field_error.too_many("jwt", len(entries), _ISSUERS_MAX))
        raise ConfigFileInvalid.of(*faults)
    readers = [_JwtReader(entry, disallowed_issuers, faults) for entry in entries]
    configs = [reader.config() for reader in readers]
    faults += _duplicates(readers)
    anonymous = _anonymous(fields, faults)
    if faults:
        raise ConfigFileInvalid(" ".join(field_error.join(faults).split()))
    return AuthenticationConfig(tuple(filter(None, configs)), anonymous)


def _anonymous(fields: ConfigFields, faults: list[FieldError]) -> Anonymous | None:
    found = fields.fields("anonymous", ("enabled", "conditions"))
    if found is None:
        return None
    paths = [one.string("path") for one in found.each("conditions", ("path",))]
    is_enabled = found.flag("enabled") or False
    if paths and not is_enabled:
        rendered = [{"path": path} for path in paths]
        why = "enabled should be set to true when conditions are defined"
        faults.append(field_error.invalid(found.path("conditions"), rendered, why))
    return Anonymous(is_enabled, frozenset(paths) if paths else None)


def _duplicates(readers: Sequence[_JwtReader]) -> Iterator[FieldError]:
    for name in ("url", "discoveryURL"):
        seen: set[str] = set()
        for reader in readers:
            value = reader.issuer.string(name)
            if value in seen and value:
                yield field_error.duplicate(reader.issuer.path(name), value)
            seen.add(value)


@dataclass(slots=True)
class _Used:
    """Which claims expressions look at."""

    email: bool = False
    email_verified: bool = False


class _JwtReader:
    """One entry of ``jwt``. What is wrong with it is added to ``faults``."""

    def __init__(
        self, fields: ConfigFields, disallowed: Sequence[str], faults: list[FieldError]
    ) -> None:
        self._fields = fields
        self._disallowed = disallowed
        self._faults = faults
        self._used = _Used()
        self.issuer = fields.fields("issuer", _ISSUER) or ConfigFields(
            {}, fields.path("issuer"), _ISSUER
        )

    def config(self) -> JwtConfig | None:
        """None if there are faults."""
        before = len(self._faults)
        issuer, audiences = self._issuer(), self._audiences()
        required, conditions = self._claim_rules()
        mappings = self._mappings()
        user_conditions = tuple(self._user_conditions())
        if len(self._faults) > before or mappings is None:
            return None
        return JwtConfig(
            issuer=issuer,
            audiences=audiences,
            mappings=mappings,
            required_claims=required,
            claim_conditions=conditions,
            user_conditions=user_conditions,
        )

    def _issuer(self) -> Issuer:
        fields = self.issuer
        url, discovery = fields.string("url"), fields.string("discoveryURL")
        authority = fields.string("certificateAuthority")
        at, discovery_at = fields.path("url"), fields.path("discoveryURL")
        if not url:
            self._faults.append(field_error.required(at))
        else:
            self._faults += url_faults(url, at, self._disallowed)
        if discovery:
            if url.rstrip("/") == discovery.rstrip("/"):
                why = "discoveryURL must be different from URL"
                self._faults.append(field_error.invalid(discovery_at, discovery, why))
            self._faults += url_faults(discovery, discovery_at, ())
        if authority:
            try:
                Authorities.parse(authority)
            except ValueError:
                why = "data does not contain any valid RSA or ECDSA certificates"
                place = fields.path("certificateAuthority")
                self._faults.append(field_error.invalid(place, "<omitted>", why))
        if selector := fields.string("egressSelectorType"):
            why = "egress selector is not supported"
            place = fields.path("egressSelectorType")
            self._faults.append(field_error.invalid(place, selector, why))
        return Issuer(url, discovery, authority)

    def _audiences(self) -> tuple[str, ...]:
        fields = self.issuer
        audiences, policy = fields.strings("audiences"), fields.string("audienceMatchPolicy")
        at, policy_at = fields.path("audiences"), fields.path("audienceMatchPolicy")
        if not audiences:
            self._faults.append(field_error.required(at, f"at least one {at} is required"))
            return ()
        for number, audience in enumerate(audiences):
            if not audience:
                self._faults.append(field_error.required(f"{at}[{number}]"))
            if audience in audiences[:number]:
                self._faults.append(field_error.duplicate(f"{at}[{number}]", audience))
        why = ""
        if len(audiences) > 1 and policy != _MATCH_ANY:
            why = "audienceMatchPolicy must be MatchAny for multiple audiences"
        elif policy not in ("", _MATCH_ANY):
            why = "audienceMatchPolicy must be empty or MatchAny for single audience"
        if why:
            self._faults.append(field_error.invalid(policy_at, policy, why))
        return audiences

    def _claim_rules(self) -> tuple[dict[str, str], tuple[Condition, ...]]:
        required: dict[str, str] = {}
        conditions: dict[str, Condition] = {}
        for rule in self._fields.each("claimValidationRules", _RULE):
            claim, text = rule.string("claim"), rule.string("expression")
            message, value = rule.string("message"), rule.string("requiredValue")
            at = rule.path("")[:-1]
            if claim and text:
                self._faults.append(field_error.invalid(at, claim, _BOTH))
            elif claim:
                self._refuse_beside(rule, "message", message, "claim")
                if claim in required:
                    self._faults.append(field_error.duplicate(rule.path("claim"), claim))
                required[claim] = value
            elif text:
                self._refuse_beside(rule, "requiredValue", value, "expression")
                if text in conditions:
                    self._faults.append(field_error.duplicate(rule.path("expression"), text))
                elif found := self._compiled(rule, "expression", is_condition=True):
                    self._note(found)
                    conditions[text] = Condition(found.compiled, message)
            else:
                self._faults.append(field_error.required(at, "claim or expression is required"))
        return required, tuple(conditions.values())

    def _mappings(self) -> ClaimMappings | None:
        names = ("username", "groups", "uid", "extra")
        fields = self._fields.fields("claimMappings", names)
        if fields is None:
            fields = ConfigFields({}, self._fields.path("claimMappings"), names)
        username = self._prefixed(fields, "username", is_required=True)
        groups = self._prefixed(fields, "groups", is_required=False)
        uid, extra = self._uid(fields), self._extra(fields)
        if self._used.email and not self._used.email_verified:
            at = fields.path("username.expression")
            assert isinstance(username, CompiledExpression), "only expressions are looked into"
            self._faults.append(field_error.invalid(at, username.text, _VERIFIED))
        if username is None:
            return None
        return ClaimMappings(username=username, groups=groups, uid=uid, extra=extra)

    def _prefixed(
        self, fields: ConfigFields, name: str, *, is_required: bool
    ) -> PrefixedClaim | CompiledExpression | None:
        at = fields.path(name)
        found = fields.fields(name, _PREFIXED) or ConfigFields({}, at, _PREFIXED)
        claim, text, prefix = (found.string(one) for one in ("claim", "expression", "prefix"))
        if claim and text:
            self._faults.append(field_error.invalid(at, "", _BOTH))
        elif text:
            if found.has("prefix"):
                why = "may not be specified when expression is set"
                self._faults.append(field_error.invalid(found.path("prefix"), prefix, why))
            if expression := self._compiled(found, "expression"):
                if is_required:
                    self._used.email |= expression.uses("email")
                    self._note(expression)
                return expression.compiled
        elif claim:
            if not found.has("prefix"):
                why = "It can be set to an empty string to disable prefixing"
                why = f"prefix is required when claim is set. {why}"
                self._faults.append(field_error.required(found.path("prefix"), why))
            return PrefixedClaim(claim, prefix)
        elif is_required:
            self._faults.append(field_error.required(at, "claim or expression is required"))
        return None

    def _uid(self, fields: ConfigFields) -> PrefixedClaim | CompiledExpression | None:
        found = fields.fields("uid", ("claim", "expression"))
        if found is None:
            return None
        claim, text = found.string("claim"), found.string("expression")
        if claim and text:
            self._faults.append(field_error.invalid(fields.path("uid"), "", _BOTH))
        elif text:
            expression = self._compiled(found, "expression")
            return expression.compiled if expression else None
        return PrefixedClaim(claim) if claim else None

    def _extra(self, fields: ConfigFields) -> dict[str, CompiledExpression]:
        extra: dict[str, CompiledExpression] = {}
        seen: set[str] = set()
        for mapping in fields.each("extra", ("key", "valueExpression")):
            key, at = mapping.string("key"), mapping.path("key")
            self._faults += _key_faults(key, at)
            if key in seen:
                self._faults.append(field_error.duplicate(at, key))
                continue
            seen.add(key)
            if not mapping.string("valueExpression"):
                self._faults.append(field_error.required(mapping.path("valueExpression")))
            elif found := self._compiled(mapping, "valueExpression"):
                self._note(found)
                extra[key] = found.compiled
        return extra

    def _user_conditions(self) -> Iterator[Condition]:
        seen: set[str] = set()
        for rule in self._fields.each("userValidationRules", ("expression", "message")):
            text, at = rule.string("expression"), rule.path("expression")
            if not text:
                self._faults.append(field_error.required(at))
            elif text in seen:
                self._faults.append(field_error.duplicate(at, text))
            else:
                seen.add(text)
                try:
                    yield Condition(user_condition(text), rule.string("message"))
                except ExpressionInvalid as error:
                    self._faults.append(field_error.invalid(at, text, str(error)))

    def _compiled(
        self, fields: ConfigFields, name: str, *, is_condition: bool = False
    ) -> ClaimsExpression | None:
        text = fields.string(name)
        try:
            return ClaimsExpression(text, is_condition=is_condition)
        except ExpressionInvalid as error:
            self._faults.append(field_error.invalid(fields.path(name), text, str(error)))
            return None

    def _note(self, expression: ClaimsExpression) -> None:
        self._used.email_verified |= expression.uses("email_verified")

    def _refuse_beside(self, rule: ConfigFields, name: str, value: str, other: str) -> None:
        if value:
            why = f"may not be specified when {other} is set"
            self._faults.append(field_error.invalid(rule.path(name), value, why))


def url_faults(url: str, at: str, disallowed: Sequence[str]) -> Iterator[FieldError]:
    """What is wrong with the URL of an issuer."""
    if url in disallowed:
        why = f"URL must not overlap with disallowed issuers: [{' '.join(sorted(disallowed))}]"
        yield field_error.invalid(at, url, why)
    if fault := url_fault(url):
        yield field_error.invalid(at, url, fault)
        return
    parts = urlsplit(url)
    if parts.scheme != "https":
        yield field_error.invalid(at, url, "URL scheme must be https")
    if parts.username is not None or parts.password is not None:
        yield field_error.invalid(at, url, "URL must not contain a username or password")
    if parts.query:
        yield field_error.invalid(at, url, "URL must not contain a query")
    if parts.fragment:
        yield field_error.invalid(at, url, "URL must not contain a fragment")


def _key_faults(key: str, at: str) -> Iterator[FieldError]:
    found = Findings()
    found.domain_prefixed_path(at, key)
    yield from found
    if key != key.lower():
        yield field_error.invalid(at, key, "must be lowercase")
    domain, slash, _ = key.partition("/")
    if slash and f".{domain}".endswith((".kubernetes.io", ".k8s.io")):
        why = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
        yield field_error.invalid(at, key, why)
