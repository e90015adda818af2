"""A PUT or an apply that finds no object creates it, if its user may create (server.md §6.2).

Part of admission, since only the verb learns whether the object exists.
"""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api.status import InternalError
from proreus.server.authz.authorizer import Action, Authorization, Decision, forbidden
from proreus.server.registry.admission import Attributes


def authorize_creation(
    authorization: Authorization, attributes: Attributes
) -> Awaitable[None] | None:
    """A POST has no name in its path and was authorized as what it is."""
    if attributes.subresource:
        return None
    return _check_creation(authorization, attributes)


async def _check_creation(authorization: Authorization, attributes: Attributes) -> None:
    """Raises Denied, or InternalError if an authorizer failed."""
    resource = attributes.resource
    action = Action(
        user=attributes.user,
        verb="create",
        group=resource.group,
        version=resource.version,
        resource=resource.plural,
        namespace=attributes.namespace,
        name=attributes.path_name,
    )
    verdict = await authorization.decided(action)
    if verdict.decision is Decision.ALLOW:
        return
    if verdict.error:
        raise InternalError.of(verdict.error)
    raise forbidden(action, verdict.reason)
