"""Which view shows a resource in a form a client asked for; made once, then shared."""

from __future__ import annotations

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupVersionResource
from proreus.server.registry.resource import Resource
from proreus.server.views.columns import Printer, printer_for
from proreus.server.views.converted_view import Convert, ConvertedView
from proreus.server.views.json_view import JsonView
from proreus.server.views.metadata_view import MetadataView
from proreus.server.views.table_view import IncludeObject, TableView

Whole = JsonView | ConvertedView


class Views:
    """Views of one server. A resource that is declared anew gets a new view."""

    def __init__(self, clock: Clock, convert: Convert) -> None:
        self._clock = clock
        self._convert = convert
        self._whole: dict[GroupVersionResource, tuple[Resource, Whole]] = {}
        self._metadata = {version: MetadataView(version) for version in ("v1", "v1beta1")}

    def whole(self, resource: Resource) -> Whole:
        """The objects themselves, in the version they are served in."""
        known, view = self._whole.get(resource.gvr, (None, None))
        if view is None or known is not resource:
            view = self._make(resource)
            self._whole[resource.gvr] = (resource, view)
        return view

    def metadata(self, version: str = "v1") -> MetadataView:
        return self._metadata[version]

    def table(
        self,
        resource: Resource,
        *,
        include: IncludeObject = IncludeObject.METADATA,
        version: str = "v1",
        printer: Printer | None = None,
    ) -> TableView:
        """``printer`` for what is not of the resource's own kind, such as a Scale."""
        chosen = printer or printer_for(resource.stored_gvk.group_kind)
        whole = self.whole(resource)
        return TableView(chosen, whole, self._clock, include=include, version=version)

    def _make(self, resource: Resource) -> Whole:
        view = JsonView(resource)
        if resource.stored_gvk == resource.gvk:
            return view
        return ConvertedView(resource, view, self._convert)
