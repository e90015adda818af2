"""The kinds of Kubernetes as types, a module per group version.

    from proreus.api.kinds.core_v1 import Container, Pod, PodSpec
    from proreus.api.kinds.meta_v1 import ObjectMeta

    def image_of(pod: Pod) -> str | None:
        return pod.spec.containers[0].image

    pod = Pod(
        metadata=ObjectMeta(name="web"),
        spec=PodSpec(containers=[Container(name="main", image="web:1")]),
    )

An editor completes them and a type checker refuses fields they do not have; the modules are made by
the build (``hatch_kinds.py``), with stubs beside them. While the program runs, objects are
``KubeObject``s and their parts read-only views, whatever was declared: types cost nothing.
``isinstance(obj, Pod)`` asks an object for its kind.
"""
