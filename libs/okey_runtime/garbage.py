"""How often Python looks for garbage that refers to itself.

Reference counts free nearly everything that a service makes. By default the collector looks after
every 700 new objects all the same, and through everything that lives now and then: that took a
fifth of a busy engine's time, and longer pauses the more tables it had.
"""

import gc
from typing import Final

_NEW_OBJECTS: Final = 50_000
_YOUNG_LOOKS: Final = 20
_MIDDLE_LOOKS: Final = 100


def look_seldom() -> None:
    """Look at new objects after 50,000 of them, at older ones after so many such looks."""
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_LOOKS, _MIDDLE_LOOKS)


def spare_what_lives() -> None:
    """Never look at what lives now: modules, and what a service has loaded to serve."""
    gc.freeze()
