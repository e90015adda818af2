"""The Pod Security Standards: levels, their versions, and what each asks of a pod. Pure."""
