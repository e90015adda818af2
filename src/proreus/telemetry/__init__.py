"""How programs built on proreus are seen from outside: metrics under Kubernetes' own names."""
