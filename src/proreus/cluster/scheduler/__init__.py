"""Which node a pod runs on: queue → cycle (filters, scores) → binding."""
