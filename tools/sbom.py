"""Adds to a CycloneDX bill of materials what an image's base brings beside our Python packages.

python -m tools.sbom build/sbom.json build/root    the image's root, or as much of it as is read

Read are dpkg's list of installed packages, which Debian they are of, and which Python is compiled
into the base. purl: https://github.com/package-url/purl-spec (types deb and generic).
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

STATUS: Final = "var/lib/dpkg/status"
RELEASE: Final = "usr/lib/os-release"
_PYTHON: Final = "usr/local/include/python3.*/patchlevel.h"
_FIELD: Final = re.compile(r"^(Package|Status|Version|Architecture|Source): (.+)$", re.MULTILINE)


class NoPackages(Exception):
    """The folder has no list of packages, so it is no root of an image of ours."""


def components(root: Path) -> Iterator[dict[str, Any]]:
    """What the base brings, one component a package.

    Raises:
        NoPackages: there is no list of them.
    """
    status = root / STATUS
    if not status.is_file():
        raise NoPackages(f"{status} is not there: name the folder with the image's root")
    release = _release(root / RELEASE)
    for paragraph in status.read_text("utf-8").split("\n\n"):
        fields = dict(_FIELD.findall(paragraph))
        if fields.get("Status", "").endswith(" installed"):
            yield _package(fields, release)
    for header in sorted(root.glob(_PYTHON)):
        [version] = re.findall(r'#define PY_VERSION\s+"(.+)"', header.read_text("utf-8"))
        purl = f"pkg:generic/python@{version}"
        yield _component("application", "python", version, purl)


def completed(bill: dict[str, Any], root: Path) -> dict[str, Any]:
    """The bill with what the base brings; given again it stays the same."""
    found = list(components(root))
    added = {each["bom-ref"] for each in found}
    ours = [each for each in bill.get("components", ()) if each["bom-ref"] not in added]
    return {**bill, "components": [*ours, *found]}


def _package(fields: dict[str, str], release: str) -> dict[str, Any]:
    name, version = fields["Package"], fields["Version"]
    told = {"arch": fields["Architecture"], "distro": release}
    if "Source" in fields:
        # Advisories are about sources; a version stands with it where it is another.
        told["upstream"] = fields["Source"].partition(" ")[0]
    qualifiers = "&".join(f"{key}={quote(told[key])}" for key in sorted(told) if told[key])
    purl = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='~')}?{qualifiers}"
    return _component("library", name, version, purl)


def _component(kind: str, name: str, version: str, purl: str) -> dict[str, Any]:
    return {"bom-ref": purl, "type": kind, "name": name, "version": version, "purl": purl}


def _release(file: Path) -> str:
    """``debian-12``; "" where the base does not tell."""
    if not file.is_file():
        return ""
    told = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]+)"?$', file.read_text("utf-8"), re.M))
    return "-".join(filter(None, (told.get("ID"), told.get("VERSION_ID"))))


def main() -> None:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bill", type=Path)
    parser.add_argument("root", type=Path)
    options = parser.parse_args()
    bill = completed(json.loads(options.bill.read_text("utf-8")), options.root)
    options.bill.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
