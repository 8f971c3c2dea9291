"""A tied program dies with its parent."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import services.standalone

TIED = Path(services.standalone.__file__).with_name("tied.py")
PARENT = """
import subprocess, sys, os
child = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1], str(os.getpid()),
                          "-", "/bin/sh", "-c", "echo $$; exec sleep 600"])
child.wait()
"""


async def test_it_dies_with_its_parent() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(TIED), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    descriptor = os.pidfd_open(child)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, ended.set)
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    async with asyncio.timeout(10):
        await ended.wait()
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)


def test_it_does_not_start_for_a_parent_that_is_gone() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", TIED, "1000000000", "-", "/bin/echo", "started"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "the parent is gone" in done.stderr
