"""docs/gateway.md tells every setting with its default."""

import re
from pathlib import Path

from okey_runtime.config import ServiceSettings
from services.gateway.settings import GatewaySettings

PAGE = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text("utf-8")
SETTING = re.compile(r"^\| `OKEY_(GATEWAY_[A-Z_]+)` \| (.+?) \| ", re.MULTILINE)


def test_every_setting_is_documented_with_its_default() -> None:
    fields = GatewaySettings.model_fields
    own = fields.keys() - ServiceSettings.model_fields.keys()
    told = {name.lower(): default for name, default in SETTING.findall(PAGE)}
    assert told.keys() == {name for name in own if name.startswith("gateway_")}
    for name, default in told.items():
        value = fields[name].default
        assert default == _told(value), name


def _told(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if isinstance(value, str) else f"{value:,}"
