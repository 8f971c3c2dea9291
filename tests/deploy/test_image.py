"""The image is really built, and each service really starts from it: read-only, without privileges.

Needs root and Debian's packages (see ``oci.TOOLS``); `.ci/run` installs them.
"""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.deploy import oci
from tests.deploy.code import KEEPERS, SERVICES
from tests.deploy.manifests import ROOT
from tests.deploy.oci import BuiltImage, Mount
from tests.deploy.starting import MOUNTED, MigrationStart, Start, lay_out_secrets
from tests.fixtures.postgres import PostgresServer, postgres_server
from tests.fixtures.valkey import Valkey, valkey, valkey_server

__all__ = ["postgres_server", "valkey", "valkey_server"]

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        bool(oci.missing()),
        reason=f"NOT CHECKED: no image is built here, {', '.join(oci.missing())} is missing: as "
        f"root, apt-get install {' '.join(oci.TOOLS)}",
    ),
]

COMPILERS = {"gcc", "cc", "g++", "c++", "clang", "ld", "as", "make", "rustc"}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> BuiltImage:
    folder = tmp_path_factory.mktemp("image")
    # The image's user reads files below it.
    for each in (folder, folder.parent):
        each.chmod(0o755)
    return BuiltImage.build(folder)


def test_final_image_compiles_and_installs_nothing(image: BuiltImage) -> None:
    paths = [image.root / folder for folder in ("opt/okey/bin", "usr/bin", "usr/local/bin")]
    programs = {file.name for path in paths if path.is_dir() for file in path.iterdir()}

    assert {"python", "okeyctl"} <= programs
    assert programs.isdisjoint(COMPILERS)
    assert not list((image.root / "opt" / "okey").rglob("site-packages/pip"))


def test_the_bill_of_materials_names_what_the_base_brings(image: BuiltImage) -> None:
    made = ROOT / "build" / "sbom.json"
    subprocess.run(["make", "sbom", f"ROOT={image.root}"], cwd=ROOT, check=True)
    bill = json.loads(made.read_text())
    named = {each["purl"].partition("@")[0] for each in bill["components"]}
    asked = ["dpkg-query", f"--admindir={image.root}/var/lib/dpkg", "-W", "-f=${Package}\n"]
    packages = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()

    assert {f"pkg:deb/debian/{quote(name)}" for name in packages} <= named
    assert {"pkg:deb/debian/libc6", "pkg:pypi/grpcio", "pkg:pypi/cryptography"} <= named


def test_nothing_below_okey_can_be_changed_by_its_user(image: BuiltImage) -> None:
    user, group = image.user
    below = [image.root / "opt" / "okey", *(image.root / "opt" / "okey").rglob("*")]
    stats = [path.lstat() for path in below if not path.is_symlink()]

    assert (user, group) == (10001, 10001)
    assert not [one for one in stats if one.st_uid == user or one.st_gid == group]
    assert not [one for one in stats if one.st_mode & 0o022]


@pytest.mark.parametrize("service", SERVICES)
async def test_service_starts_from_the_image_read_only(
    service: str,
    image: BuiltImage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres_server: PostgresServer,
    valkey: Valkey,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    given = tmp_path / "given"
    given.mkdir()
    lay_out_secrets(given, postgres_server.create_database(), valkey.url.get_secret_value())
    # As the engine's manifest mounts it: root's, and readable by the group of the image's user.
    keys = given / "seal-keys" / "seal-keys"
    os.chown(keys, 0, image.user[1])
    keys.chmod(0o440)
    start = Start.of(service)
    if service in KEEPERS:
        job = MigrationStart.of(service)
        with image.container(job.command, job.variables, [Mount(given, MOUNTED)]) as migration:
            assert await asyncio.to_thread(migration.wait, 60) == 0

    with image.container(start.command, start.variables, [Mount(given, MOUNTED)]) as process:
        await start.until_ready()
        page = await start.metrics_page()
        process.terminate()
        status = await asyncio.to_thread(process.wait, 30)

    assert b"okey_event_loop_lag_seconds" in page
    assert status == 0


def test_root_of_a_container_is_read_only(image: BuiltImage) -> None:
    write = "import pathlib; pathlib.Path('/opt/okey/x').touch()"
    escape = "import os; os.setuid(0)"

    assert run(image, "import okey_runtime.server") == 0
    assert run(image, write) != 0
    assert run(image, escape) != 0


def run(image: BuiltImage, program: str) -> int:
    """The exit status of a Python program in the image."""
    with image.container(["python", "-c", program], {}, []) as process:
        return process.wait(60)
