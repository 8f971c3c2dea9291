"""The plumbing that every Okey service shares: configuration, identity, gRPC server and channel,
storage, telemetry.
"""
