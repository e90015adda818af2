"""The only folder that knows the HTTP library: TLS, HTTP and WebSocket for both ends."""
