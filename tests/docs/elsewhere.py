"""Blocks of code and commands that no test of a page runs as they stand there, and why not.

What is said here is printed at the end of `make docs-check`. A path in a reason is that of the test
which runs the same; it must be there.
"""

from typing import Final

ELSEWHERE: Final = {
    ("README.md", "make run"): "starts platforms, a demo and all tests: tests/e2e and .ci/run do",
    ("docs/quickstart.md", "make run"): "tests/e2e/test_standalone.py starts it",
    ("docs/cluster.md", "make cluster"): "tests/e2e/test_cluster.py starts it",
    ("docs/cluster.md", "apt-get install iproute2 nftables libfaketime"): "changes the machine",
    (
        "docs/cluster.md",
        ".venv/bin/okeyctl doctor --lobby lobby.okey:50051 --engine engine.okey:50051 "
        "--wallet wallet.okey:50051 \\",
    ): "names hosts of a deployment; the block above it runs doctor on a cluster",
    ("docs/contributing.md", "make lint test"): ".ci/run is what runs the tests of the pages",
    ("docs/deploy.md", "docker build -f deploy/Dockerfile -t okey-platform:0.1.0 ."): (
        "needs Docker and a cluster; tests/deploy/test_image.py builds it with buildah"
    ),
    ("docs/deploy.md", "mkdir -p build/root"): (
        "needs Docker; tests/deploy/test_image.py makes the same of the image that it builds"
    ),
    ("docs/okeyctl.md", "kubectl -n okey create job --from=cronjob/operator ayse"): (
        "needs a cluster; tests/deploy/test_operator.py runs okeyctl with the pod's settings"
    ),
    (
        "docs/okeyctl.md",
        'okeyctl wallet grant fatma 2000000 --reason "the cup\'s first prize"',
    ): "needs a limit and two operators; tests/unit/okeyctl/test_wallet_commands.py runs the same",
    (
        "docs/operations.md",
        "kubectl -n okey delete job -l okey/job=migration --ignore-not-found",
    ): "needs a cluster; tests/deploy/test_start.py starts the job from its manifest",
    ("docs/performance.md", "make bench"): "takes minutes, on a machine that does nothing else",
    ("examples/README.md", ".venv/bin/python -m tools.edge --port 8080"): (
        "tests/docs/test_web.py starts the same Envoy on a free port"
    ),
    (
        "examples/README.md",
        "TOKEN=$(.venv/bin/okeyctl token --player web) node examples/web/first_table.js",
    ): "tests/docs/test_web.py runs it",
    ("docs/security.md", "make attack"): (
        "takes minutes and a network namespace; tests/attack/test_attack.py runs it in short"
    ),
    ("docs/fairness.md", 'import { createHash, createHmac } from "node:crypto";'): (
        "tests/docs/test_fairness.py runs it"
    ),
}
"""By page and first command of the block."""

OKEYCTL: Final = {
    "demo": "a gate of its own, `make demo`; tests/e2e/test_demo.py",
    "keys drop": "needs a key that is no longer used; tests/unit/okeyctl/test_key_commands.py",
    "wallet approvals approve": "needs a limit; tests/unit/okeyctl/test_wallet_commands.py runs it",
    "wallet approvals reject": "needs a limit; tests/unit/okeyctl/test_wallet_commands.py runs it",
}
"""Commands of okeyctl that stand in no block that is run."""
