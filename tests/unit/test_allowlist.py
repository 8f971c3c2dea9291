"""What is published is what the access tables open to players and integrators, and nothing else."""

from collections.abc import Iterable
from typing import Final

import pytest

from okey_runtime.access import AccessTable, Public
from okey_runtime.allowlist import HOMES, INTEGRATORS, PLAYERS, PUBLISHED, PublishedMethod
from okey_runtime.identity import Role
from tests.unit.test_access_tables import APPS

NOT_PUBLISHED: Final[dict[Role, dict[str, str]]] = {Role.PLAYER: {}, Role.INTEGRATOR: {}}
"""Methods that a role may call but only from inside, each with the reason; none today."""


def open_to(role: Role, tables: Iterable[AccessTable]) -> set[str]:
    """The paths that a role may call."""
    return {
        path
        for table in tables
        for path, rule in table.rules().items()
        if not isinstance(rule, Public) and role in rule
    }


def differences(listed: Iterable[PublishedMethod], role: Role, *tables: AccessTable) -> set[str]:
    """Paths that are listed or open to the role, but not both."""
    wanted = open_to(role, tables) - NOT_PUBLISHED[role].keys()
    return {each.path for each in listed} ^ wanted


@pytest.mark.parametrize(
    ("role", "listed"), [(Role.PLAYER, PLAYERS), (Role.INTEGRATOR, INTEGRATORS)]
)
def test_what_is_published_is_what_the_role_may_call(
    role: Role, listed: tuple[PublishedMethod, ...]
) -> None:
    assert differences(listed, role, *(app.access for app in APPS.values())) == set()


def test_a_method_that_is_opened_to_players_has_to_be_listed() -> None:
    opened = AccessTable.of("okey.api.wallet.v1.WalletService", {"GrantChips": {Role.PLAYER}})
    tables = (*(app.access for app in APPS.values() if app is not APPS["wallet"]), opened)

    assert "/okey.api.wallet.v1.WalletService/GrantChips" in differences(
        PLAYERS, Role.PLAYER, *tables
    )


def test_each_method_is_listed_with_the_process_that_serves_it() -> None:
    served = {service: name for name, app in APPS.items() for service in app.services}

    for each in PUBLISHED:
        assert each.home == served[each.method.containing_service.full_name]
    assert set(HOMES) == {each.home for each in PUBLISHED}


def test_no_method_stands_twice_for_one_audience() -> None:
    for listed in (PLAYERS, INTEGRATORS):
        paths = [each.path for each in listed]
        assert len(paths) == len(set(paths))
