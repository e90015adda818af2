"""How the kinds that configure admission are declared: all alike."""

from __future__ import annotations

from proreus.server.resource import Generation, Lifecycle, Names, Printer, Resource, Rules


def admission_kind(
    kind: str, plural: str, rules: Rules, printer: Printer, *, has_status: bool = False
) -> Resource:
    names = Names.of(
        "admissionregistration.k8s.io", "v1", kind, plural, categories=("api-extensions",)
    )
    return Resource(
        names=names,
        namespaced=False,
        has_status=has_status,
        lifecycle=Lifecycle(
            generation=Generation(), status_keeps_metadata=True, unconditional_update=False
        ),
        rules=rules,
        printer=printer,
    )
