"""The engine as in production, watched: `python -m tests.bench.engine_process`.

With ``BENCH_PROFILE`` set, a thread looks every few milliseconds at what the event loop is doing
and writes how often it was where to that file at the end. Nothing of the engine knows of it.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

from okey_runtime.server import serve
from services.engine.app import EngineApp
from services.engine.settings import EngineSettings
from tests.bench.children import end_with_parent

_EVERY_S: Final = 0.003
_ROOT: Final = str(Path(__file__).parents[2]) + "/"


class Sampler(threading.Thread):
    """Counts where the main thread is: as the innermost function, and as any of those around."""

    def __init__(self) -> None:
        super().__init__(name="sampler", daemon=True)
        self.own: Counter[str] = Counter()
        self.total: Counter[str] = Counter()
        self.samples = 0
        self._watched = threading.get_ident()

    def run(self) -> None:
        """Sample for as long as the process lives."""
        while True:
            time.sleep(_EVERY_S)
            frame = sys._current_frames().get(self._watched)
            if frame is not None:
                self._count(frame)

    def _count(self, innermost: FrameType) -> None:
        self.samples += 1
        frame: FrameType | None = innermost
        self.own[_name(innermost)] += 1
        around = set()
        while frame is not None:
            around.add(_name(frame))
            frame = frame.f_back
        self.total.update(around)


def _name(frame: FrameType) -> str:
    path = frame.f_code.co_filename.removeprefix(_ROOT)
    path = path.partition("/site-packages/")[2] or path
    return f"{path}:{frame.f_code.co_qualname}"


def main() -> None:
    """Serve; write the profile where one is asked for."""
    end_with_parent()
    where = os.environ.get("BENCH_PROFILE")
    sampler = Sampler()
    if where:
        sampler.start()
    try:
        serve(EngineApp(EngineSettings.load()))
    finally:
        if where:
            profile = {"samples": sampler.samples, "own": sampler.own, "total": sampler.total}
            Path(where).write_text(json.dumps(profile))


if __name__ == "__main__":
    main()
