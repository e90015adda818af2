"""Go's structs that are part of others without a name in JSON; its decoder names them."""

from __future__ import annotations

from collections.abc import Iterator

# The fields of a struct that belong to an embedded one, or, with a minus, all but those.
_EMBEDDED = """
Volume -name: VolumeSource
PersistentVolumeSpec -accessModes -capacity -claimRef -mountOptions -nodeAffinity \
-persistentVolumeReclaimPolicy -storageClassName -volumeAttributesClassName -volumeMode: \
PersistentVolumeSource
Probe exec grpc httpGet tcpSocket: ProbeHandler
EphemeralContainer -targetContainerName: EphemeralContainerCommon
ConfigMapEnvSource name: LocalObjectReference
ConfigMapKeySelector name: LocalObjectReference
ConfigMapProjection name: LocalObjectReference
ConfigMapVolumeSource name: LocalObjectReference
SecretEnvSource name: LocalObjectReference
SecretKeySelector name: LocalObjectReference
SecretProjection name: LocalObjectReference
IngressRule http: IngressRuleValue
PersistentVolumeClaim apiVersion kind: TypeMeta
RuleWithOperations -operations: Rule
NamedRuleWithOperations -resourceNames -operations: RuleWithOperations Rule
NamedRuleWithOperations operations: RuleWithOperations
DeviceAllocationConfiguration opaque: DeviceConfiguration
DeviceClaimConfiguration opaque: DeviceConfiguration
DeviceClassConfiguration opaque: DeviceConfiguration
"""


def _embedded() -> Iterator[tuple[str, frozenset[str], frozenset[str], list[str]]]:
    for line in _EMBEDDED.split("\n"):
        fields, _, names = line.partition(": ")
        if fields:
            struct, *keys = fields.split()
            but = frozenset(key[1:] for key in keys if key[0] == "-")
            yield struct, frozenset(keys), but, names.split()


def embedded_in(struct: str, key: str) -> list[str]:
    """The embedded structs that a field of ``struct`` belongs to, from the outermost."""
    for owner, keys, but, names in _embedded():
        if owner == struct and (key in keys or (but and key not in but)):
            return names
    return []
