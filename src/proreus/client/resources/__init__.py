"""The verbs of one resource: get, list, watch, create … on whatever the server serves."""
