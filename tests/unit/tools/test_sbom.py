"""The bill of materials names what the base image brings, too."""

from pathlib import Path

import pytest

from tools.sbom import RELEASE, STATUS, NoPackages, completed, components

PACKAGES = """Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc
Version: 2.36-9+deb12u14
Description: GNU C Library
 Package: not a field

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: passwd
Status: install ok installed
Architecture: amd64
Source: shadow (1:4.12)
Version: 1:4.13~rc+1
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path / STATUS, PACKAGES)
    put(tmp_path / RELEASE, 'NAME="Debian"\nVERSION_ID="12"\nID=debian\n')
    return tmp_path


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_installed_packages_are_listed_with_their_sources(root: Path) -> None:
    found = list(components(root))

    assert [(each["name"], each["version"]) for each in found] == [
        ("libc6", "2.36-9+deb12u14"),
        ("passwd", "1:4.13~rc+1"),
    ]
    assert [each["purl"] for each in found] == [
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64&distro=debian-12&upstream=glibc",
        "pkg:deb/debian/passwd@1%3A4.13~rc%2B1?arch=amd64&distro=debian-12&upstream=shadow",
    ]


def test_a_python_that_is_no_package_is_listed(root: Path) -> None:
    header = root / "usr/local/include/python3.11/patchlevel.h"
    put(header, '#define PY_MAJOR_VERSION 3\n#define PY_VERSION      "3.11.14"\n')

    assert list(components(root))[-1]["purl"] == "pkg:generic/python@3.11.14"


def test_what_was_there_stays_and_nothing_comes_twice(root: Path) -> None:
    bill = {"specVersion": "1.6", "components": [{"bom-ref": "a", "name": "alembic"}]}
    once = completed(bill, root)

    assert [each["name"] for each in once["components"]] == ["alembic", "libc6", "passwd"]
    assert once["specVersion"] == "1.6"
    assert completed(once, root) == once


def test_a_folder_that_is_no_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoPackages, match=STATUS):
        list(components(tmp_path))
