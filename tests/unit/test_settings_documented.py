"""Every setting of every service stands in a page for operators, by the name of its variable."""

import re
from pathlib import Path

from okey_runtime.config import ServiceSettings
from services.engine.settings import EngineSettings
from services.gateway.settings import GatewaySettings
from services.lobby.settings import LobbySettings
from services.rating.settings import RatingSettings
from services.wallet.app import WalletSettings

DOCS = Path(__file__).parents[2] / "docs"
SETTINGS = (
    ServiceSettings,
    EngineSettings,
    GatewaySettings,
    LobbySettings,
    RatingSettings,
    WalletSettings,
)
VARIABLE = re.compile(r"\bOKEY_[A-Z_]+[A-Z]\b")


def variables() -> set[str]:
    return {f"OKEY_{field.upper()}" for each in SETTINGS for field in each.model_fields}


def told(texts: list[str]) -> set[str]:
    """The variables that the pages name."""
    return {name for text in texts for name in VARIABLE.findall(text)}


def test_every_setting_stands_in_a_page() -> None:
    pages = [path.read_text("utf-8") for path in sorted(DOCS.glob("*.md"))]
    assert sorted(variables() - told(pages)) == []
    assert len(variables()) > 70


def test_a_name_that_only_begins_alike_does_not_count() -> None:
    assert told(["`OKEY_TLS_ROLES` and OKEY_LEASE_MS, `OKEY_TLS_`"]) == {
        "OKEY_TLS_ROLES",
        "OKEY_LEASE_MS",
    }
