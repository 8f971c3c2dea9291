"""Make the reference pages of the API.

python -m tools.reference generate    write them anew
python -m tools.reference check       exit 1 if one is not what its source gives
"""

import argparse
import sys
from typing import Final

from tools.reference import guide, image
from tools.reference.pages import Reference, pages

FOLDER: Final = guide.ROOT / "docs" / "reference"


def made() -> dict[str, str]:
    """File name -> text of every page, from `protos/` and docs/api.md as they are."""
    page = guide.PAGE.read_text("utf-8")
    return pages(Reference(image.read(), guide.reasons(page), guide.roles(page)))


def stale(texts: dict[str, str]) -> list[str]:
    """The pages that are missing, left over, or not what their sources give."""
    there = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    return sorted(
        name for name in texts.keys() | there.keys() if texts.get(name) != there.get(name)
    )


def main() -> int:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("generate", "check"))
    action, texts = parser.parse_args().action, made()
    if action == "check":
        for name in (found := stale(texts)):
            print(f"docs/reference/{name} is stale: run `make protos` and commit")
        return 1 if found else 0
    FOLDER.mkdir(exist_ok=True)
    for name in stale(texts):
        if name in texts:
            (FOLDER / name).write_text(texts[name], "utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
