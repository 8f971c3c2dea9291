"""The processes of the platform, one folder each; they talk gRPC and never import one another."""
