"""Where okeyctl finds an operator's token: a file for one service, or a folder for several."""

from pathlib import Path

import pytest

from okey_runtime.service_token import ServiceTokenMissing
from services.okeyctl.reach import reach, token_in


def test_a_file_is_the_token_for_whatever_service_is_called(tmp_path: Path) -> None:
    file = tmp_path / "operator.token"
    file.write_text("abc")
    assert token_in(file, "wallet")() == (("authorization", "Bearer abc"),)


def test_of_a_folder_each_service_is_shown_its_own(tmp_path: Path) -> None:
    for service in ("engine", "wallet"):
        (tmp_path / f"{service}.token").write_text(f"for {service}")
        way = reach(service, tmp_path, "127.0.0.1:1", tmp_path)
        assert way.token() == (("authorization", f"Bearer for {service}"),)


def test_a_folder_of_the_release_before_has_one_token_for_all(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("for all")
    assert token_in(tmp_path, "rating")() == (("authorization", "Bearer for all"),)


def test_a_service_without_a_token_in_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "engine.token").write_text("for the engine")
    with pytest.raises(ServiceTokenMissing, match=r"wallet\.token"):
        token_in(tmp_path, "wallet")()
