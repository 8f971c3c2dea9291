"""Runs a program that dies with its parent:
``python -I -S tied.py PARENT_PID USER_ID PROGRAM [ARG ...]``; USER_ID is ``-`` to stay who we are.

A small program of its own, because such a request must be made in the child itself, and code
between fork and exec is unsafe in a process with threads. The kernel keeps the request over exec;
where there is no Linux kernel the program runs untied.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, then become the program."""
    parent, user_id, *command = sys.argv[1:]
    if user_id != "-":
        # First: the kernel forgets the request when a process becomes somebody else.
        os.setuid(int(user_id))
    if sys.platform == "linux":
        # SIGKILL will do: what was acknowledged is on the disk, and every port is free at once.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            sys.exit("the parent is gone already")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
