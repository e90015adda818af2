"""Rights over signers of certificates: verbs on ``signers``, which are no objects of the API."""

from __future__ import annotations

from proreus.server.authz.authorizer import Action, Authorization
from proreus.server.registry.admission import Attributes
from proreus.server.registry.user import User

_ANY = "*"


async def check_signer_right(
    authorization: Authorization, attributes: Attributes, verb: str, signer: str, why: str
) -> None:
    """Raises Forbidden, with ``why``."""
    if not await may_use_signer(authorization, attributes.user, verb, signer):
        raise attributes.forbidden(why)


async def may_use_signer(authorization: Authorization, user: User, verb: str, signer: str) -> bool:
    """By the signer's own name or by ``domain/*``, which stands for all of a domain."""
    domain = signer.partition("/")[0]
    for name in (signer, f"{domain}/{_ANY}"):
        action = Action(
            user=user,
            verb=verb,
            group="certificates.k8s.io",
            version=_ANY,
            resource="signers",
            name=name,
        )
        if await authorization.allows(action):
            return True
    return False
