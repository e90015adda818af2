"""What the server serves: resources as data, rules per kind, and the verbs over them."""
