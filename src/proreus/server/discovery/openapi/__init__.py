"""The parts of OpenAPI documents, in a form neither version of OpenAPI dictates."""
