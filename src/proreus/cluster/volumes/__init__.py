"""Persistent volumes: what the binder, the provisioner, the scheduler and the kubelet agree on."""
