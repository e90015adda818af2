"""Containers as processes of this machine: no images, no namespaces, everything else."""
