import pytest

from okey_runtime.access import (
    ANY_ROLE,
    HEALTH,
    PUBLIC,
    AccessTable,
    RoleRefused,
    TokenMissing,
    reflection_access,
)
from okey_runtime.identity import Identity, Role

SERVICE = "okey.api.wallet.v1.WalletService"
HOLD = f"/{SERVICE}/HoldStake"
TABLE = AccessTable.of(SERVICE, {"HoldStake": {Role.ENGINE}, "Ping": PUBLIC, "Any": ANY_ROLE})


def caller(*roles: Role) -> Identity:
    return Identity("somebody", frozenset(roles), "", 0)


def test_a_listed_role_may_call() -> None:
    TABLE.check(HOLD, caller(Role.ENGINE, Role.PLAYER))


@pytest.mark.parametrize("role", sorted(set(Role) - {Role.ENGINE}))
def test_another_role_is_refused(role: Role) -> None:
    with pytest.raises(RoleRefused, match=f"open to engine.* roles are {role.value}"):
        TABLE.check(HOLD, caller(role))


def test_a_caller_without_any_role_is_refused() -> None:
    with pytest.raises(RoleRefused, match="roles are none"):
        TABLE.check(f"/{SERVICE}/Any", caller())


def test_nobody_is_told_to_bring_a_token() -> None:
    with pytest.raises(TokenMissing, match="authorization"):
        TABLE.check(HOLD, None)


def test_a_public_method_needs_no_token() -> None:
    TABLE.check(f"/{SERVICE}/Ping", None)
    assert TABLE.is_public(f"/{SERVICE}/Ping")
    assert not TABLE.is_public(HOLD)


@pytest.mark.parametrize("method", [f"/{SERVICE}/Other", "/other.Service/HoldStake"])
def test_an_unlisted_method_is_refused_to_everybody(method: str) -> None:
    with pytest.raises(RoleRefused, match="no role at all"):
        TABLE.check(method, caller(*Role))
    with pytest.raises(TokenMissing):
        TABLE.check(method, None)


@pytest.mark.parametrize("name", ["HoldStake", f"{SERVICE}/HoldStake", f"/{SERVICE}", "/a/b/c"])
def test_a_rule_needs_a_full_method_name(name: str) -> None:
    with pytest.raises(ValueError, match="full method name"):
        AccessTable({name: PUBLIC})


def test_tables_are_joined_and_a_method_has_one_rule() -> None:
    joined = TABLE | HEALTH
    assert joined.rules().keys() == TABLE.rules().keys() | HEALTH.rules().keys()
    with pytest.raises(ValueError, match="both access tables"):
        TABLE | TABLE


def test_health_is_open_and_reflection_as_it_is_set() -> None:
    assert set(HEALTH.rules().values()) == {PUBLIC}
    assert {method.split("/")[1] for method in HEALTH.rules()} == {"grpc.health.v1.Health"}
    for rule in (PUBLIC, ANY_ROLE):
        access = reflection_access(rule)
        assert set(access.rules().values()) == {rule}
        assert {method.split("/")[1] for method in access.rules()} == {
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        }
