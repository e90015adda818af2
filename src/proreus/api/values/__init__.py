"""Small grammars that Kubernetes writes inside strings: quantities, times, names, durations."""
