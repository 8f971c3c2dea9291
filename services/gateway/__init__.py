"""The reference gateway: HTTP and WebSocket for browsers, gRPC to the platform."""
