"""The console script; light, so that Ctrl-C ends it in silence even while the rest is loaded."""

import signal
import sys
from typing import Final

INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, as shells have it."""


def main() -> None:
    """Load everything and do as the command line says."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from services.okeyctl.app import run

    try:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
