"""The plumbing that every Okey service shares: configuration, identity, gRPC server and channel,
storage, telemetry.
"""

import os

# gRPC's core reads this when it is first imported. Its own lines on stderr are no JSON and may hold
# addresses; what matters of them is raised as an error, too.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
