"""Ingresses and network policies, as tables print them."""

from __future__ import annotations

from tests.unit.server.kinds.printing import cells


def test_hosts_of_an_ingress() -> None:
    def hosts(*names: str) -> str:
        rules = [{"host": name} if name else {} for name in names]
        return str(cells("networking.k8s.io", "Ingress", {"spec": {"rules": rules}})[2])

    assert hosts() == "*"
    assert hosts("a", "b") == "a,b"
    assert hosts("a", "b", "c", "d", "e") == "a,b,c + 2 more..."


def test_rules_without_a_host_count_only_where_they_follow_the_third_host() -> None:
    def hosts(*names: str) -> str:
        rules = [{"host": name} if name else {} for name in names]
        return str(cells("networking.k8s.io", "Ingress", {"spec": {"rules": rules}})[2])

    assert hosts("a", "", "b", "c") == "a,b,c"
    assert hosts("a", "", "b", "c", "") == "a,b,c + 2 more..."
    assert hosts("", "") == "*"


def test_a_port_of_a_slice_is_its_number_else_its_name() -> None:
    def ports(*given: dict[str, object]) -> str:
        return str(cells("discovery.k8s.io", "EndpointSlice", {"ports": list(given)})[2])

    assert ports({"port": 80, "name": "web"}, {"name": "any"}) == "80,any"
    assert ports({"name": ""}, {"name": "x"}) == ",x"
    assert ports({"name": ""}) == "<unset>"


def test_selectors_are_printed_in_their_text_form() -> None:
    chosen = {
        "matchLabels": {"app": "x"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["z", "y"]}],
    }
    found = cells("networking.k8s.io", "NetworkPolicy", {"spec": {"podSelector": chosen}})
    assert found[1] == "app=x,tier in (y,z)"


def test_the_default_class_of_ingresses_is_marked() -> None:
    def name(is_default: str) -> str:
        annotations = {"ingressclass.kubernetes.io/is-default-class": is_default}
        return str(cells("networking.k8s.io", "IngressClass", {}, annotations=annotations)[0])

    assert name("true") == "x (default)"
    assert name("false") == "x"
