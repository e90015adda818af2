"""The stages of a request, one file each; ``pipeline`` has their order."""
