"""gRPC's threads give way to the event loop; in processes of their own, since a policy stays."""

import json
import subprocess
import sys
from textwrap import dedent

_SHOW = """
import asyncio, errno, json, os
from os import sched_getscheduler
import grpc
from okey_runtime.grpc_threads import start_grpc

def policies():
    threads = map(int, os.listdir("/proc/self/task"))
    return {thread: sched_getscheduler(thread) for thread in threads}

async def main():
    before = policies()
    start_grpc()
    server = grpc.aio.server()
    server.add_insecure_port("127.0.0.1:0")
    await server.start()
    me, all_ = os.getpid(), policies()
    new = [policy for thread, policy in all_.items() if thread not in before]
    print(json.dumps({"loop": [before[me], all_[me]], "new": new}))
    await server.stop(None)
"""


def shown(first: str = "") -> dict[str, list[int]]:
    """The policies of the loop's thread, before and after, and of threads that are new then."""
    program = f"{dedent(_SHOW)}\n{first}\nasyncio.run(main())\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    policies: dict[str, list[int]] = json.loads(done.stdout)
    return policies


def test_the_thread_that_tells_of_messages_gives_way_and_the_loop_does_not() -> None:
    policies = shown()
    assert policies["loop"] == [0, 0]  # SCHED_OTHER
    assert 3 in policies["new"]  # SCHED_BATCH


def test_where_that_is_forbidden_grpc_runs_all_the_same() -> None:
    forbid = dedent("""
        def forbidden(*_):
            raise PermissionError(errno.EPERM, "not permitted")

        os.sched_setscheduler = forbidden
    """)
    policies = shown(forbid)
    assert policies["new"]
    assert set(policies["new"]) == {0}


def test_where_the_system_knows_no_policies_grpc_runs_all_the_same() -> None:
    """As on macOS."""
    missing = dedent("""
        for name in ("SCHED_BATCH", "sched_getparam", "sched_getscheduler", "sched_setscheduler"):
            delattr(os, name)
    """)
    assert set(shown(missing)["new"]) == {0}


def test_where_somebody_chose_another_policy_it_stays() -> None:
    """Batch threads would go before an idle loop; a real-time policy is not always given again."""
    policies = shown("os.sched_getscheduler = lambda _: os.SCHED_FIFO")
    assert policies["loop"] == [0, 0]
    assert set(policies["new"]) == {0}
