"""The options of each verb, decoded from the query string (server.md §2, §6).

Decoding follows Kubernetes' order: integers
fail first, then selectors, then the combination rules, so that of several mistakes the same one is
reported. Validation returns every violation; the caller turns them into one 422.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json
from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.fields import FieldSelector
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import BadRequest
from proreus.api.wire.query import Query, boolean, first, integer, optional_boolean
from proreus.lazy_dataclass import dataclass

NOT_OLDER_THAN = "NotOlderThan"
IGNORE_READ_ERRORS = "ignoreStoreReadErrorWithClusterBreakingPotential"
EXACT = "Exact"
_FIELD_MANAGER_BYTES = 128
_ALL_LABELS = LabelSelector.everything()
_ALL_FIELDS = FieldSelector.everything()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Of a collection GET: list, or watch if ``watch``."""

    labels: LabelSelector = _ALL_LABELS
    fields: FieldSelector = _ALL_FIELDS
    watch: bool = False
    allow_watch_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_token: str = ""
    send_initial_events: bool | None = None

    def defaulted(self) -> ListOptions:
        """A watch without a version is one that begins with the state (server.md §2.4)."""
        legacy = (
            self.watch
            and self.send_initial_events is None
            and not self.resource_version_match
            and self.resource_version in ("", "0")
        )
        if not legacy:
            return self
        return replace(self, send_initial_events=True, resource_version_match=NOT_OLDER_THAN)

    def violations(self) -> list[FieldError]:
        return _watch_violations(self) if self.watch else _list_violations(self)


def decode_list_options(query: Query) -> ListOptions:
    """Raises BadRequest for what cannot be read; the combination is not validated here."""
    if not query:
        return ListOptions()
    timeout, limit = integer(query, "timeoutSeconds"), integer(query, "limit")
    try:
        labels = LabelSelector.parse(first(query, "labelSelector"))
        fields = FieldSelector.parse(first(query, "fieldSelector"))
    except SelectorError as error:
        raise BadRequest(str(error)) from error
    return ListOptions(
        labels=labels,
        fields=fields,
        watch=boolean(query, "watch"),
        allow_watch_bookmarks=boolean(query, "allowWatchBookmarks"),
        resource_version=first(query, "resourceVersion"),
        resource_version_match=first(query, "resourceVersionMatch"),
        timeout_seconds=timeout,
        limit=limit or 0,
        continue_token=first(query, "continue"),
        send_initial_events=optional_boolean(query, "sendInitialEvents"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Of create, update and patch; ``kind`` names them in errors. ``force`` is apply's."""

    kind: str = "CreateOptions"
    dry_run: tuple[str, ...] = ()
    field_manager: str = ""
    field_validation: str = ""
    force: bool | None = None

    @property
    def is_dry_run(self) -> bool:
        return bool(self.dry_run)

    def violations(self, *, apply: bool = False) -> list[FieldError]:
        found: list[FieldError] = []
        if self.kind == "PatchOptions" and not apply and self.force is not None:
            found.append(field_error.forbidden("force", "may not be specified for non-apply patch"))
        if apply and not self.field_manager:
            found.append(field_error.required("fieldManager", "is required for apply patch"))
        found += _field_manager_violations(self.field_manager)
        found += dry_run_violations(self.dry_run)
        if self.field_validation not in ("", "Ignore", "Strict", "Warn"):
            found.append(
                field_error.not_supported(
                    "fieldValidation", self.field_validation, ("", "Ignore", "Strict", "Warn")
                )
            )
        return found


def decode_write_options(query: Query, kind: str) -> WriteOptions:
    if not query:
        return WriteOptions(kind=kind)
    return WriteOptions(
        kind=kind,
        dry_run=tuple(query.get("dryRun", ())),
        field_manager=first(query, "fieldManager"),
        field_validation=first(query, "fieldValidation"),
        force=optional_boolean(query, "force") if kind == "PatchOptions" else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """``uid`` and ``resource_version`` are preconditions; None means none."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    dry_run: tuple[str, ...] = ()
    uid: str | None = None
    resource_version: str | None = None
    ignores_read_errors: bool = False  # meant for objects that cannot be read any more
    has_empty_preconditions: bool = False  # said, though with nothing in them

    @property
    def has_preconditions(self) -> bool:
        is_pinned = self.uid is not None or self.resource_version is not None
        return is_pinned or self.has_empty_preconditions

    @property
    def is_dry_run(self) -> bool:
        return bool(self.dry_run)

    def violations(self) -> list[FieldError]:
        found: list[FieldError] = []
        if self.orphan_dependents is not None and self.propagation_policy is not None:
            found.append(
                field_error.invalid(
                    "propagationPolicy",
                    self.propagation_policy,
                    "orphanDependents and deletionPropagation cannot be both set",
                )
            )
        if self.propagation_policy not in (None, "Foreground", "Background", "Orphan"):
            found.append(
                field_error.not_supported(
                    "propagationPolicy",
                    self.propagation_policy,
                    ("Foreground", "Background", "Orphan", "nil"),
                )
            )
        found += dry_run_violations(self.dry_run)
        if self.ignores_read_errors:
            found += self._beside_ignoring()
        return found

    def _beside_ignoring(self) -> Iterator[FieldError]:
        for name, is_set in (
            ("propagationPolicy", self.propagation_policy is not None),
            ("orphanDependents", self.orphan_dependents is not None),
            ("gracePeriodSeconds", self.grace_period_seconds is not None),
            ("preconditions", self.has_preconditions),
        ):
            if is_set:
                why = f"cannot be set together with .{name}"
                yield field_error.invalid(IGNORE_READ_ERRORS, True, why)


def decode_delete_options(query: Query) -> DeleteOptions:
    """From the query, which counts only when the request has no body."""
    if not query:
        return DeleteOptions()
    policy = query.get("propagationPolicy")
    return DeleteOptions(
        grace_period_seconds=integer(query, "gracePeriodSeconds"),
        propagation_policy=policy[0] if policy else None,
        orphan_dependents=optional_boolean(query, "orphanDependents"),
        dry_run=tuple(query.get("dryRun", ())),
        uid=first(query, "uid") or None,
        resource_version=first(query, "resourceVersion") or None,
        ignores_read_errors=bool(optional_boolean(query, IGNORE_READ_ERRORS)),
    )


def delete_options_from_body(body: Json) -> DeleteOptions:
    """From a decoded DeleteOptions object whose types have been checked."""
    given = body.get("preconditions")
    preconditions = given or {}
    return DeleteOptions(
        grace_period_seconds=body.get("gracePeriodSeconds"),
        propagation_policy=body.get("propagationPolicy"),
        orphan_dependents=body.get("orphanDependents"),
        dry_run=tuple(body.get("dryRun") or ()),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        ignores_read_errors=bool(body.get(IGNORE_READ_ERRORS)),
        has_empty_preconditions=given is not None and not given,
    )


def dry_run_violations(values: tuple[str, ...]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [field_error.not_supported("dryRun", list(values), ("All",))]


def _list_violations(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    match = options.resource_version_match
    if match:
        if not options.resource_version:
            found.append(
                _match_forbidden(
                    "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if options.continue_token:
            found.append(_match_with_continue())
        if match not in (EXACT, NOT_OLDER_THAN):
            found.append(
                field_error.not_supported(
                    "resourceVersionMatch", match, (EXACT, NOT_OLDER_THAN, "")
                )
            )
        if match == EXACT and options.resource_version == "0":
            found.append(
                _match_forbidden(
                    'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                )
            )
    if options.send_initial_events is not None:
        found.append(
            field_error.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        )
    return found


def _watch_violations(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    match = options.resource_version_match
    if options.send_initial_events is not None:
        if match != NOT_OLDER_THAN:
            found.append(
                _match_forbidden(
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                )
            )
    elif match:
        found.append(
            _match_forbidden(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
        )
    if match and match != NOT_OLDER_THAN:
        found.append(field_error.not_supported("resourceVersionMatch", match, (NOT_OLDER_THAN,)))
    if match and options.continue_token:
        found.append(_match_with_continue())
    return found


def _match_forbidden(why: str) -> FieldError:
    return field_error.forbidden("resourceVersionMatch", why)


def _match_with_continue() -> FieldError:
    return _match_forbidden("resourceVersionMatch is forbidden when continue is provided")


def _field_manager_violations(name: str) -> list[FieldError]:
    found: list[FieldError] = []
    if len(name.encode()) > _FIELD_MANAGER_BYTES:
        found.append(field_error.too_long("fieldManager", _FIELD_MANAGER_BYTES))
    for index, char in enumerate(name):
        if not char.isprintable():
            position = len(name[:index].encode())
            why = f"invalid character U+{ord(char):04X} (at position {position})"
            found.append(field_error.invalid("fieldManager", name, why))
    return found
