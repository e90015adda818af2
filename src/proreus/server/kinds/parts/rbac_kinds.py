"""What the kinds of ``rbac.authorization.k8s.io`` have in common: an update may create an object,
which may have any name that fits into a path."""

from __future__ import annotations

from proreus.api.values import names
from proreus.server.resource import Lifecycle, Names, Printer, Resource, Rules
from proreus.server.resource.printer import NAME_AND_CREATION

RBAC = "rbac.authorization.k8s.io"


def rbac_kind(
    kind: str, *, namespaced: bool, rules: Rules, printer: Printer = NAME_AND_CREATION
) -> Resource:
    return Resource(
        names=Names.of(RBAC, "v1", kind, f"{kind.lower()}s"),
        namespaced=namespaced,
        lifecycle=Lifecycle(create_on_update=True),
        name_rule=names.path_segment,
        rules=rules,
        printer=printer,
    )
