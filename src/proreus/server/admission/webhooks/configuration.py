"""MutatingWebhookConfiguration and ValidatingWebhookConfiguration, read once."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.json_types import Json
from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.labels import LabelSelector
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.expressions import MatchCondition
from proreus.server.admission.matching import RequestRule
from proreus.server.admission.webhooks.review import REVIEW_VERSIONS
from proreus.server.webhooks.client_config import WebhookClientConfig

_TIMEOUT_S = 10
_HARMLESS = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True, eq=False)
class AdmissionWebhook:
    """``uid`` is unique among all. ``review_version`` "": it takes none that is known.

    ``fault``: why its selectors cannot be read; a request that its rules match is refused with it.
    """

    uid: str
    configuration: str
    name: str
    client: WebhookClientConfig
    rules: tuple[RequestRule, ...]
    matches_equivalents: bool
    fails_open: bool
    namespaces: LabelSelector
    objects: LabelSelector
    conditions: tuple[MatchCondition, ...]
    is_dry_run_safe: bool
    timeout_s: int
    review_version: str
    is_reinvoked: bool
    fault: str = ""


def read_configuration(name: str, obj: Json) -> Iterator[AdmissionWebhook]:
    seen: dict[str, int] = {}
    for hook in obj.get("webhooks") or ():
        called = hook.get("name") or ""
        number = seen[called] = seen.get(called, -1) + 1
        yield _read(name, hook, f"{name}/{called}/{number}")


def _read(configuration: str, hook: Json, uid: str) -> AdmissionWebhook:
    everything = LabelSelector.everything()
    fault = ""
    try:
        namespaces = LabelSelector.from_object(hook.get("namespaceSelector"))
        objects = LabelSelector.from_object(hook.get("objectSelector"))
    except SelectorError as error:
        namespaces = objects = everything
        fault = str(error)
    versions = (one for one in hook.get("admissionReviewVersions") or () if one in REVIEW_VERSIONS)
    return AdmissionWebhook(
        uid=uid,
        configuration=configuration,
        name=hook.get("name") or "",
        client=WebhookClientConfig.of(hook.get("clientConfig") or {}),
        rules=tuple(RequestRule.of(rule) for rule in hook.get("rules") or ()),
        matches_equivalents=hook.get("matchPolicy") != "Exact",
        fails_open=hook.get("failurePolicy") == "Ignore",
        namespaces=namespaces,
        objects=objects,
        conditions=MatchCondition.all_of(hook.get("matchConditions")),
        is_dry_run_safe=hook.get("sideEffects") in _HARMLESS,
        timeout_s=hook.get("timeoutSeconds") or _TIMEOUT_S,
        review_version=next(versions, ""),
        is_reinvoked=hook.get("reinvocationPolicy") == "IfNeeded",
        fault=fault,
    )
