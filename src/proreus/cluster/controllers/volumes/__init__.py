"""Persistent volumes: binding them to claims, making them, giving them back.

binder       claim → the volume it is bound to         } Kubernetes: the PersistentVolume
phases       volume → its phase, and what becomes of it} controller
provisioner  claim of our class → a new volume, or a larger one
deleter      volume that is released → its folder goes
ephemeral    pod → the claims of its ephemeral volumes
"""

from proreus.cluster.controllers.volumes.binder import volume_binder_controller
from proreus.cluster.controllers.volumes.deleter import volume_deleter_controller
from proreus.cluster.controllers.volumes.ephemeral import ephemeral_volume_controller
from proreus.cluster.controllers.volumes.phases import volume_phases_controller
from proreus.cluster.controllers.volumes.provisioner import volume_provisioner_controller

__all__ = [
    "ephemeral_volume_controller",
    "volume_binder_controller",
    "volume_deleter_controller",
    "volume_phases_controller",
    "volume_provisioner_controller",
]
