"""Whom a token is for, what it grants there, and an upgrade from one audience for all."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from okey_runtime.audiences import PUBLIC_ROLES, Audiences, WrongAudience, audience_for
from okey_runtime.auth import TokenInvalid, TokenVerifier
from okey_runtime.identity import Role
from okey_runtime.keys import JwksFile
from okey_runtime.service_token import AUTHORIZATION, ServiceToken
from services.standalone.tokens import CALLED_BY
from tests.unit.runtime.tokens import ISSUER, Issuer

ALL = frozenset(Role)
PRIVATE = ALL - PUBLIC_ROLES
SERVICES = ("lobby", "engine", "wallet", "rating", "bots", "gateway")
CALLS = [(role, callee) for role, callees in CALLED_BY.items() for callee in callees]


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    return Issuer.at(tmp_path)


@pytest.mark.parametrize("service", SERVICES)
def test_the_public_audience_grants_what_players_and_integrators_may(service: str) -> None:
    audiences = Audiences([service])
    assert audiences.granted("okey", ALL, "x") == PUBLIC_ROLES
    # The token names others too: still no more than anybody may see.
    assert audiences.granted(["okey", f"okey-{service}", "shop"], ALL, "x") == PUBLIC_ROLES


@pytest.mark.parametrize("service", [each for each in SERVICES if each != "engine"])
def test_a_services_own_audience_grants_the_other_roles(service: str) -> None:
    audiences = Audiences([service])
    assert audiences.granted(f"okey-{service}", ALL, "x") == PRIVATE
    assert audiences.granted([f"okey-{service}"], ALL, "x") == PRIVATE


def test_engines_know_each_other_by_an_audience_of_their_own() -> None:
    audiences = Audiences(["engine"])
    assert audiences.granted("okey-engine", ALL, "x") == PRIVATE - {Role.ENGINE}
    assert audiences.granted("okey-peer", ALL, "x") == {Role.ENGINE}
    for service in set(SERVICES) - {"engine"}:
        with pytest.raises(WrongAudience):
            Audiences([service]).granted("okey-peer", ALL, "x")


@pytest.mark.parametrize(
    ("audience", "roles", "told"),
    [
        ("okey-engine", {Role.ENGINE}, "the token is for okey-engine; taken here: okey "),
        ("shop", {Role.PLAYER}, "the token is for shop"),
        ([], {Role.PLAYER}, "the token is for nobody"),
        ("okey", {Role.ENGINE}, "a token for okey does not grant engine here"),
        ("okey-wallet", {Role.PLAYER}, "a token for okey-wallet does not grant player here"),
        (["okey-wallet", "okey-engine"], {Role.ENGINE}, "for okey-wallet, okey-engine; taken"),
        ("x" * 5_000, {Role.PLAYER}, f"the token is for {'x' * 80}…; taken"),
    ],
)
def test_a_token_that_grants_nothing_here_is_told_what_would(
    audience: object, roles: set[Role], told: str
) -> None:
    with pytest.raises(WrongAudience) as refused:
        Audiences(["wallet"]).granted(audience, frozenset(roles), "x")
    assert told in str(refused.value)
    assert f"okey-wallet alone ({', '.join(sorted(PRIVATE))})" in str(refused.value)


@pytest.mark.parametrize("audience", [None, 7, ["okey", 7], {"okey": 1}])
def test_an_audience_that_is_no_name_is_invalid(audience: object) -> None:
    with pytest.raises(TokenInvalid, match="'aud'"):
        Audiences(["wallet"]).granted(audience, ALL, "x")


def test_the_names_follow_the_public_audience() -> None:
    assert audience_for("wallet", "table-games") == "table-games-wallet"
    audiences = Audiences(["wallet"], "table-games")
    assert audiences.granted("table-games-wallet", ALL, "x") == PRIVATE
    with pytest.raises(WrongAudience):
        audiences.granted("okey-wallet", ALL, "x")


def test_a_token_without_roles_is_somebody_without_roles() -> None:
    assert Audiences(["wallet"]).granted("okey", frozenset(), "x") == frozenset()


def test_the_old_audience_grants_every_role_where_it_is_still_taken_and_says_so() -> None:
    audiences = Audiences(["wallet"], takes_old=True)
    with capture_logs() as lines:
        assert audiences.granted("okey", frozenset({Role.ENGINE}), "engine-service") == {
            Role.ENGINE
        }
        assert audiences.granted("okey", frozenset({Role.PLAYER}), "ayse") == {Role.PLAYER}
        assert audiences.granted("okey-wallet", ALL, "x") == PRIVATE
    [line] = lines
    assert (line["event"], line["subject"], line["roles"]) == (
        "token_of_the_old_audience",
        "engine-service",
        ["engine"],
    )
    for other in ("okey-engine", "shop"):
        with pytest.raises(WrongAudience):
            audiences.granted(other, ALL, "x")


def shown(token: ServiceToken) -> str:
    return dict(token())[AUTHORIZATION].removeprefix("Bearer ")


def old_release(issuer: Issuer) -> TokenVerifier:
    """As the release before checks tokens: one audience, which grants every role."""
    audiences = Audiences([], takes_old=True)
    return TokenVerifier(
        JwksFile(issuer.jwks), issuer=ISSUER, clock=issuer.clock, audiences=audiences
    )


@pytest.mark.parametrize(("role", "callee"), CALLS)
def test_each_step_of_an_upgrade_lets_every_service_call_every_other(
    issuer: Issuer, tmp_path: Path, role: Role, callee: str
) -> None:
    """W4: docs/operations.md, "To one audience a service": old and new pods live side by side."""
    home = "engine" if callee == "peer" else callee
    new, strict = issuer.verifier(100, home, takes_old=True), issuer.verifier(100, home)
    old_file, own_file = tmp_path / "token", tmp_path / f"{callee}.token"
    old_file.write_text(issuer.token(f"{role}-service", [role], audience="okey"))
    old_caller, new_caller = ServiceToken(old_file), ServiceToken(own_file, old_file)

    # 1: the new release comes, with the setting and the old token.
    for caller in (old_caller, new_caller):
        for verifier in (old_release(issuer), new):
            assert verifier.verify(shown(caller)).roles == {role}
    # 2: everybody is new, and tokens for one service each come, which callers read by themselves.
    own_file.write_text(issuer.token(f"{role}-service", [role], audience=audience_for(callee)))
    assert new.verify(shown(new_caller)).roles == strict.verify(shown(new_caller)).roles == {role}
    # 3: the setting goes, and the old token with it.
    with pytest.raises(WrongAudience):
        strict.verify(shown(old_caller))
    # Why the second step waits for the first one's end.
    with pytest.raises(WrongAudience):
        old_release(issuer).verify(shown(new_caller))
