"""A node is related to what its pods need, and to nothing else, whatever comes and goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proreus.server.authz.node.graph import ATTACHMENT, VOLUME, NodeGraph
from proreus.server.authz.node.references import (
    CLAIM,
    CONFIG_MAP,
    POD,
    SECRET,
    SERVICE_ACCOUNT,
    NodeReference,
    pod_references,
    volume_secrets,
)

NODES, PODS, VOLUMES = ["n1", "n2"], ["p", "q", "r"], ["v", "w"]
SECRETS = [NodeReference(SECRET, "ns", name) for name in ("s", "t")]
CLAIMS = [NodeReference(CLAIM, "ns", name) for name in ("c", "d")]

changes = st.one_of(
    st.tuples(
        st.just("pod"),
        st.sampled_from(PODS),
        st.sampled_from(NODES),
        st.sets(st.sampled_from([*SECRETS, *CLAIMS])),
    ),
    st.tuples(st.just("no pod"), st.sampled_from(PODS)),
    st.tuples(
        st.just("volume"),
        st.sampled_from(VOLUMES),
        st.sampled_from([None, *CLAIMS]),
        st.sets(st.sampled_from(SECRETS)),
    ),
    st.tuples(st.just("no volume"), st.sampled_from(VOLUMES)),
    st.tuples(st.just("question"), st.sampled_from(NODES)),
)


@given(st.lists(changes, max_size=20))
def test_relations_are_those_of_the_pods_and_volumes_there_are(
    history: list[tuple[object, ...]],
) -> None:
    """Guarantee: no one in where they do not belong"""
    pods: dict[str, tuple[str, set[NodeReference]]] = {}
    graph = NodeGraph(lambda pod: pods[pod.name][1])
    volumes: dict[str, tuple[NodeReference, set[NodeReference]]] = {}

    for change in history:
        match change:
            case ("pod", str(name), str(node), set(needed)):
                graph.put_pod(NodeReference(POD, "ns", name), node)
                pods[name] = (node, needed)
            case ("no pod", str(name)):
                graph.remove_pod(NodeReference(POD, "ns", name))
                pods.pop(name, None)
            case ("volume", str(name), claim, set(secrets)):
                bound = claim if isinstance(claim, NodeReference) else None
                graph.put_volume(name, bound and (bound.namespace, bound.name), secrets)
                volumes.pop(name, None)
                if bound is not None:
                    volumes[name] = (bound, secrets)
            case ("no volume", str(name)):
                graph.remove_volume(name)
                volumes.pop(name, None)
            case ("question", str(node)):
                graph.is_related(node, SECRETS[0])  # its pods are read

    for node in NODES:
        needed = {one for where, all_of in pods.values() if where == node for one in all_of}
        mounted = {name for name, (claim, _) in volumes.items() if claim in needed}
        needed |= {secret for name in mounted for secret in volumes[name][1]}
        for reference in [*SECRETS, *CLAIMS]:
            assert graph.is_related(node, reference) is (reference in needed)
        for name in VOLUMES:
            assert graph.is_related(node, NodeReference(VOLUME, "", name)) is (name in mounted)
        for name in PODS:
            own = pods.get(name, ("",))[0] == node
            assert graph.is_related(node, NodeReference(POD, "ns", name)) is own


def test_everything_a_pod_names_is_needed_by_it() -> None:
    environment = [
        {"valueFrom": {"secretKeyRef": {"name": "in-env", "key": "k"}}},
        {"valueFrom": {"configMapKeyRef": {"name": "map-in-env", "key": "k"}}},
    ]
    sources = [{"secret": {"name": "projected"}}, {"configMap": {"name": "map-projected"}}]
    spec = {
        "serviceAccountName": "account",
        "imagePullSecrets": [{"name": "pull"}],
        "initContainers": [{"envFrom": [{"secretRef": {"name": "from-env"}}]}],
        "containers": [{"env": environment}],
        "volumes": [
            {"name": "a", "secret": {"secretName": "volume"}},
            {"name": "b", "projected": {"sources": sources}},
            {"name": "c", "csi": {"nodePublishSecretRef": {"name": "publish"}}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "e", "ephemeral": {}},
        ],
    }

    found = pod_references("ns", {"metadata": {"name": "p"}, "spec": spec})

    secrets = {"in-env", "from-env", "pull", "volume", "projected", "publish"}
    assert {one.name for one in found if one.kind == SECRET} == secrets
    assert {one.name for one in found if one.kind == CONFIG_MAP} == {"map-in-env", "map-projected"}
    assert {one.name for one in found if one.kind == CLAIM} == {"claim", "p-e"}
    assert NodeReference(SERVICE_ACCOUNT, "ns", "account") in found


def test_a_mirror_pod_needs_nothing() -> None:
    metadata = {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}
    spec = {"imagePullSecrets": [{"name": "pull"}], "serviceAccountName": "account"}

    assert pod_references("ns", {"metadata": metadata, "spec": spec}) == set()


def test_a_volume_needs_what_mounts_it_but_not_what_a_controller_uses() -> None:
    driver = {
        "nodeStageSecretRef": {"name": "stage", "namespace": "other"},
        "controllerPublishSecretRef": {"name": "controller"},
    }
    spec = {"claimRef": {"namespace": "ns", "name": "c"}, "csi": driver}

    assert volume_secrets({"spec": spec}) == {NodeReference(SECRET, "other", "stage")}


def test_an_attachment_is_its_nodes_own() -> None:
    graph = NodeGraph(lambda pod: ())
    graph.put_owned(NodeReference(ATTACHMENT, "", "a"), "n1")

    assert graph.is_related("n1", NodeReference(ATTACHMENT, "", "a"))
    assert not graph.is_related("n2", NodeReference(ATTACHMENT, "", "a"))
    graph.clear(ATTACHMENT)
    assert not graph.is_related("n1", NodeReference(ATTACHMENT, "", "a"))


def test_a_pod_that_cannot_be_read_now_is_read_at_a_later_question() -> None:
    found: list[NodeReference] | None = None
    graph = NodeGraph(lambda pod: found)
    graph.put_pod(NodeReference(POD, "ns", "p"), "n1")
    assert not graph.is_related("n1", SECRETS[0])

    found = [SECRETS[0]]

    assert graph.is_related("n1", SECRETS[0])
    graph.remove_pod(NodeReference(POD, "ns", "p"))
    assert not graph.is_related("n1", SECRETS[0])
