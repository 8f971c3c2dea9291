"""Makes the manifests that would otherwise say one thing in two places."""
