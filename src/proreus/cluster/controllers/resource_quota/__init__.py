"""Resource quotas: how much of each a namespace uses."""

from proreus.cluster.controllers.resource_quota.controller import ResourceQuotas

__all__ = ["ResourceQuotas"]
