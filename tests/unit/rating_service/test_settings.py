"""Manifests of the release before still start the service."""

from pathlib import Path

import pytest

from services.rating.settings import RatingSettings


@pytest.mark.parametrize("way", ["variable", "secret"])
def test_a_redis_that_is_still_named_does_no_harm(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even one that production refuses where a service uses it."""
    monkeypatch.setenv("OKEY_JWKS_FILE", "/keys/jwks.json")
    monkeypatch.setenv("OKEY_TOKEN_ISSUER", "https://id.example")
    monkeypatch.setenv("OKEY_SECRETS_DIR", str(tmp_path))
    url = "redis://:redis@redis.example:6379/0"
    if way == "variable":
        monkeypatch.setenv("OKEY_REDIS_URL", url)
    else:
        (tmp_path / "okey_redis_url").write_text(url, "utf-8")
    settings = RatingSettings.read()
    assert settings.is_production
    assert "redis" not in settings.shown().lower()
