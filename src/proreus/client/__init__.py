"""client-go in Python: rest → informer → workqueue → controller, against any Kubernetes cluster."""
