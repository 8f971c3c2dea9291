from pathlib import Path

import pytest

from okey_runtime.service_token import ServiceToken, ServiceTokenMissing, fixed_token


def test_the_files_token_goes_with_the_call(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    assert ServiceToken(tmp_path / "token")() == (("authorization", "Bearer abc"),)


def test_a_renewed_token_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc")
    token = ServiceToken(tmp_path / "token")
    token()
    (tmp_path / "token").write_text("a longer one")
    assert token() == (("authorization", "Bearer a longer one"),)


@pytest.mark.parametrize("change", ["empty", "gone"])
def test_a_token_that_was_taken_away_goes_on_until_there_is_a_new_one(
    tmp_path: Path, change: str
) -> None:
    path = tmp_path / "token"
    path.write_text("abc")
    token = ServiceToken(path)
    token()
    if change == "empty":
        path.write_text("")
    else:
        path.unlink()
    assert token() == (("authorization", "Bearer abc"),)
    path.write_text("def")
    assert token() == (("authorization", "Bearer def"),)


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_without_any_token_the_file_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "token").write_text(content)
    with pytest.raises(ServiceTokenMissing, match=str(tmp_path)):
        ServiceToken(tmp_path / "token")()


def test_of_several_files_the_first_with_a_token_counts(tmp_path: Path) -> None:
    own, old = tmp_path / "wallet.token", tmp_path / "token"
    token = ServiceToken(own, old)
    with pytest.raises(ServiceTokenMissing, match=f"{own} or {old}"):
        token()
    old.write_text("for all")
    assert token() == (("authorization", "Bearer for all"),)
    own.write_text("for the wallet")
    assert token() == (("authorization", "Bearer for the wallet"),)
    old.unlink()
    assert token() == (("authorization", "Bearer for the wallet"),)


def test_a_fixed_token_stays_as_it_is() -> None:
    assert fixed_token("abc")() == (("authorization", "Bearer abc"),)
