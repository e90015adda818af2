"""Where a client's configuration comes from: kubeconfig files, overrides, the pod it runs in."""
