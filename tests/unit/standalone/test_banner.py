"""What a person reads once the platform is ready."""

from pathlib import Path

from services.standalone.banner import banner
from services.standalone.plan import ChildPlan
from services.standalone.ports import Ports

PLANS = [
    ChildPlan("gateway", "gateway", (), {}, Ports(7440, 7420, 7400)),
    ChildPlan("lobby", "lobby", (), {}, Ports(7401, 7421)),
    ChildPlan("valkey", "valkey", (), {}, Ports(7406, 7426)),
]


def text(**environment: str) -> str:
    return banner(PLANS, Path("/data"), Path("/state/key.json"), 4.21, environment)


def test_it_names_every_address_and_how_to_go_on() -> None:
    shown = text()
    assert shown.startswith("Play at http://127.0.0.1:7400/\nReady after 4.2 s.")
    assert "gateway  127.0.0.1:7440     http://127.0.0.1:7420/metrics" in shown
    assert "lobby    127.0.0.1:7401     http://127.0.0.1:7421/metrics" in shown
    assert "valkey   127.0.0.1:7406\n" in shown
    assert "  .venv/bin/okeyctl token --player ayse" in shown
    assert "/state/key.json" in shown


def test_it_says_that_it_is_for_development_on_this_machine() -> None:
    assert "on this machine only (127.0.0.1) and is for development, not for production" in text()


def test_changed_settings_are_shown() -> None:
    """Hurried clocks must not be taken for the usual ones."""
    assert "OKEY_CLOCK_FACTOR=10 is set" in text(OKEY_CLOCK_FACTOR="10")
    assert "OKEY_CLOCK_FACTOR" not in text(HOME="/root")


def test_several_of_a_service_are_named_by_one_target() -> None:
    plans = [
        ChildPlan(f"engine-{number}", "engine", (), {}, Ports(7500 + number)) for number in (1, 2)
    ]
    shown = banner(plans, Path("/data"), Path("/key"), 1.0, {})
    assert "engine   ipv4:127.0.0.1:7501,127.0.0.1:7502" in shown
    assert "ipv4:" not in text()


def test_a_folder_that_okeyctl_would_not_look_into_is_named() -> None:
    assert "export OKEY_DATA_DIR=/data" in text()
