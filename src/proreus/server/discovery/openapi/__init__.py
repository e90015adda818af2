"""The parts of OpenAPI documents, in a form independent of the OpenAPI version."""
