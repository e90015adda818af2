"""Requests and answers of the Kubernetes API: build, send, retry, decode, stream."""
