"""How tokens of one issuer are checked, and whom they name. Expressions are compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from proreus.lazy_dataclass import dataclass
from proreus.server.cel.admission import CompiledExpression

# What Kubernetes allows; with symmetric keys everybody who can check a token could make one.
ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")


@dataclass(frozen=True, slots=True)
class Issuer:
    """``url`` is what its tokens say. ``discovery_url``: "" if it answers at its own URL.
    ``authority``: PEM, "" for the authorities of the system."""

    url: str
    discovery_url: str = ""
    authority: str = ""


@dataclass(frozen=True, slots=True)
class PrefixedClaim:
    claim: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression that must be true."""

    expression: CompiledExpression
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMappings:
    username: PrefixedClaim | CompiledExpression
    groups: PrefixedClaim | CompiledExpression | None = None
    uid: PrefixedClaim | CompiledExpression | None = None
    extra: Mapping[str, CompiledExpression] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtConfig:
    issuer: Issuer
    audiences: tuple[str, ...]
    mappings: ClaimMappings
    required_claims: Mapping[str, str] = field(default_factory=dict)
    claim_conditions: tuple[Condition, ...] = ()
    user_conditions: tuple[Condition, ...] = ()
    algorithms: tuple[str, ...] = ALGORITHMS
