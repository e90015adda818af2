"""EndpointSlices and Endpoints: addresses of Services, from pods or from users' Endpoints."""

from proreus.cluster.controllers.endpoint_slice.controller import endpoint_slice_controller
from proreus.cluster.controllers.endpoint_slice.mirroring import endpoint_mirroring_controller

__all__ = ["endpoint_mirroring_controller", "endpoint_slice_controller"]
