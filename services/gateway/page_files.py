"""The page's files, and which build of them this gateway serves."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).with_name("page")
_INDEX: Final = PAGE / "index.html"
_BUILD_CHARS: Final = 12
_NO_BUILD: Final = 'name="okey-build" content=""'


@cache
def page_build() -> str:
    """A name that changes whenever a file of the page does; gateways of one release share it."""
    found = hashlib.sha256()
    for file in sorted(each for each in PAGE.rglob("*") if each.is_file()):
        content = file.read_bytes()
        found.update(f"{file.relative_to(PAGE).as_posix()}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:_BUILD_CHARS]


def index_html() -> str:
    """The page with its own build, which it compares with that of each gateway it meets."""
    return _INDEX.read_text().replace(_NO_BUILD, f'name="okey-build" content="{page_build()}"')
