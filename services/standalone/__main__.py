"""Run the platform on this machine: ``python -m services.standalone``."""

import signal
from importlib import import_module

if __name__ == "__main__":
    # Ctrl-C during the imports, which take a moment, ends it as the shell expects and without a
    # traceback; from then on it is a wish to stop.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    import_module("services.standalone.command").main()
