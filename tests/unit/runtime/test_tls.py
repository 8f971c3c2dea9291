"""TLS and mutual TLS of servers and channels, and certificates renewed while they serve."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from structlog.testing import capture_logs

from okey_runtime.channel import open_channel, replicas_target
from okey_runtime.config import ServiceSettings
from okey_runtime.environment import UNUSABLE_SETTINGS, SettingsRefused
from okey_runtime.errors import RpcFailure
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from okey_runtime.tls import (
    CertificateBroken,
    CertificateFiles,
    ClientTls,
    Plaintext,
    PlaintextRefused,
    hosts_of,
    is_loopback,
)
from okey_runtime.tls_roles import RolesMalformed, parse_roles
from tests.fixtures.certificates import Authority, Files
from tests.unit.runtime.caller import Caller
from tests.unit.runtime.echo import UNARY, EchoApp, ask
from tests.unit.runtime.tokens import Issuer

Serve = Callable[..., Any]

TLS_FILES = {"tls_cert_file": "a.crt", "tls_key_file": "a.key", "tls_ca_file": "ca.crt"}


class ForPlayers(ServiceSettings):
    """Of a service that no other one calls: it may do without callers' certificates."""

    takes_service_calls = False


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def serve(settings: ServiceSettings, issuer: Issuer) -> AsyncIterator[Serve]:
    """Starts the echo service with these settings changed; its address."""
    async with AsyncExitStack() as servers:

        async def start(**changes: Any) -> str:
            kind = ServiceSettings if "tls_require_client_cert" in changes else ForPlayers
            app = EchoApp(kind.model_validate(settings.model_dump() | changes))
            server = await servers.enter_async_context(ServiceServer(app, issuer.clock))
            return server.address

        yield start


def tls(ca: Path, own: Files | None = None, name: str = "engine") -> ClientTls:
    files = CertificateFiles(
        cert_file=own.cert if own else None, key_file=own.key if own else None, ca_file=ca
    )
    return ClientTls(files, name)


async def who(address: str, security: ClientTls | Plaintext, token: str | None) -> str:
    """Whom the service takes the caller for; fails as the call does."""
    provider = None if token is None else fixed_token(token)
    async with open_channel(address, token=provider, security=security) as channel:
        [answer] = await Caller(channel).call(UNARY, ask())
        return answer


async def refusal(address: str, security: ClientTls | Plaintext, token: str | None) -> RpcFailure:
    try:
        answer = await who(address, security, token)
    except RpcFailure as failure:
        return failure
    raise AssertionError(f"it was not refused but taken for {answer}")


async def test_a_call_over_tls_is_answered(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(**authority.issue("server", "engine").settings())
    assert await who(address, tls(authority.ca), issuer.token()) == "ayse"


async def test_a_fixed_name_is_asked_for_whatever_address_is_dialled(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(**authority.issue("server", "engine").settings())
    for name in ("", "wallet"):
        failure = await refusal(address, tls(authority.ca, name=name), issuer.token())
        assert failure.code is grpc.StatusCode.UNAVAILABLE


async def test_a_server_of_another_authority_is_not_trusted(
    serve: Serve, authority: Authority, issuer: Issuer, tmp_path: Path
) -> None:
    address = await serve(**authority.issue("server", "engine").settings())
    other = Authority(tmp_path, "stranger")
    failure = await refusal(address, tls(other.ca), issuer.token())
    assert failure.code is grpc.StatusCode.UNAVAILABLE


async def test_plaintext_is_not_answered_where_tls_is_served(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(**authority.issue("server", "engine").settings())
    failure = await refusal(address, Plaintext.ON_LOOPBACK, issuer.token())
    assert failure.code is grpc.StatusCode.UNAVAILABLE


async def test_a_renewed_certificate_is_shown_without_a_restart(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(**authority.issue("server", "old-name").settings())
    assert await who(address, tls(authority.ca, name="old-name"), issuer.token()) == "ayse"
    authority.issue("server", "new-name")
    assert await who(address, tls(authority.ca, name="new-name"), issuer.token()) == "ayse"
    failure = await refusal(address, tls(authority.ca, name="old-name"), issuer.token())
    assert failure.code is grpc.StatusCode.UNAVAILABLE


async def test_a_broken_renewal_leaves_the_old_certificate_in_place(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    files = authority.issue("server", "engine")
    address = await serve(**files.settings())
    files.cert.write_text("no certificate")
    with capture_logs() as lines:
        assert await who(address, tls(authority.ca), issuer.token()) == "ayse"
    assert "certificate_change_refused" in {line["event"] for line in lines}


async def test_mutual_tls_lets_nobody_in_without_a_certificate_of_the_authority(
    serve: Serve, authority: Authority, issuer: Issuer, tmp_path: Path
) -> None:
    address = await serve(
        **authority.issue("server", "engine").settings(), tls_require_client_cert=True
    )
    stranger = Authority(tmp_path, "stranger").issue("stranger", "lobby.okey")
    for own in (None, stranger):
        failure = await refusal(address, tls(authority.ca, own), issuer.token())
        assert failure.code is grpc.StatusCode.UNAVAILABLE
    known = authority.issue("gateway", "gateway.okey")
    assert await who(address, tls(authority.ca, known), issuer.token()) == "ayse"


async def test_a_certificates_name_has_the_roles_that_the_settings_give_it(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(
        **authority.issue("server", "engine").settings(),
        tls_require_client_cert=True,
        tls_roles="engine.okey=engine,lobby.okey=lobby",
    )
    engine = authority.issue("caller", "other.okey", "engine.okey")
    assert await who(address, tls(authority.ca, engine), None) == "engine.okey"
    lobby = authority.issue("lobby", "lobby.okey")
    assert (await refusal(address, tls(authority.ca, lobby), None)).reason == "ROLE_REFUSED"
    nobody = authority.issue("nobody", "gateway.okey")
    assert (await refusal(address, tls(authority.ca, nobody), None)).reason == "TOKEN_MISSING"


async def test_a_token_says_who_calls_whatever_certificate_the_connection_has(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(
        **authority.issue("server", "engine").settings(),
        tls_require_client_cert=True,
        tls_roles="engine.okey=engine",
    )
    security = tls(authority.ca, authority.issue("caller", "engine.okey"))
    assert await who(address, security, issuer.token("fatma")) == "fatma"
    assert (await refusal(address, security, "no.to.ken")).reason == "TOKEN_INVALID"


BOUND = {
    "tls_require_client_cert": True,
    "tls_roles": "engine.okey=engine,lobby.okey=lobby",
}


async def test_a_services_token_counts_only_with_that_services_certificate(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(**authority.issue("server", "engine").settings(), **BOUND)
    token = issuer.token("engine-service", [Role.ENGINE])
    own = authority.issue("engine", "engine.okey")
    assert await who(address, tls(authority.ca, own), token) == "engine-service"
    for name in ("lobby.okey", "gateway.okey"):
        wrong = await refusal(address, tls(authority.ca, authority.issue("x", name)), token)
        assert (wrong.code, wrong.reason) == (
            grpc.StatusCode.UNAUTHENTICATED,
            "CERTIFICATE_MISMATCH",
        )
        assert "role engine counts only with a certificate of that role" in wrong.message
        assert wrong.message.endswith(f"this connection's certificate is {name}")


async def test_a_player_needs_no_certificate_of_its_own(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(**authority.issue("server", "engine").settings(), **BOUND)
    for name in ("gateway.okey", "lobby.okey"):
        own = tls(authority.ca, authority.issue("x", name))
        assert await who(address, own, issuer.token("fatma")) == "fatma"


async def test_an_operators_token_is_bound_once_a_certificate_is_an_operators(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    """The echo service lets no operator in: ROLE_REFUSED says that the token has counted."""
    server, token = authority.issue("server", "engine"), issuer.token("op", [Role.OPERATOR])
    gateway, ops = (authority.issue(name, name) for name in ("gateway.okey", "ops.okey"))
    free = await serve(**server.settings(), **BOUND)
    assert (await refusal(free, tls(authority.ca, gateway), token)).reason == "ROLE_REFUSED"
    roles = {"tls_roles": "engine.okey=engine,ops.okey=operator"}
    bound = await serve(**server.settings(), **BOUND | roles)
    assert (await refusal(bound, tls(authority.ca, gateway), token)).reason == (
        "CERTIFICATE_MISMATCH"
    )
    assert (await refusal(bound, tls(authority.ca, ops), token)).reason == "ROLE_REFUSED"


async def test_an_identity_providers_token_is_bound_once_a_certificate_is_its(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    """As an operator's is: the echo service lets neither in."""
    server, token = authority.issue("server", "engine"), issuer.token("login", [Role.IDENTITY])
    gateway, login = (authority.issue(name, name) for name in ("gateway.okey", "login.okey"))
    free = await serve(**server.settings(), **BOUND)
    assert (await refusal(free, tls(authority.ca, gateway), token)).reason == "ROLE_REFUSED"
    roles = {"tls_roles": "engine.okey=engine,login.okey=identity"}
    bound = await serve(**server.settings(), **BOUND | roles)
    assert (await refusal(bound, tls(authority.ca, gateway), token)).reason == (
        "CERTIFICATE_MISMATCH"
    )
    assert (await refusal(bound, tls(authority.ca, login), token)).reason == "ROLE_REFUSED"


async def test_a_service_that_asks_for_no_certificates_takes_no_services_token(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(**authority.issue("server", "engine").settings())
    failure = await refusal(address, tls(authority.ca), issuer.token("e", [Role.ENGINE]))
    assert failure.reason == "CERTIFICATE_MISMATCH"
    assert "none with a DNS name" in failure.message


async def test_a_certificate_alone_is_nobody_where_a_token_is_wanted_too(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(
        **authority.issue("server", "engine").settings(), **BOUND, tls_roles_alone=False
    )
    own = tls(authority.ca, authority.issue("engine", "engine.okey"))
    assert (await refusal(address, own, None)).reason == "TOKEN_MISSING"
    assert await who(address, own, issuer.token("e", [Role.ENGINE])) == "e"


async def test_a_renewed_clients_certificate_is_shown_by_the_next_call(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    address = await serve(
        **authority.issue("server", "engine").settings(),
        tls_require_client_cert=True,
        tls_roles="first.okey=engine,second.okey=engine",
    )
    own = authority.issue("caller", "first.okey")
    async with open_channel(address, security=tls(authority.ca, own)) as channel:
        caller = Caller(channel)
        assert await caller.call(UNARY, ask()) == ["first.okey"]
        authority.issue("caller", "second.okey")
        assert await caller.call(UNARY, ask()) == ["second.okey"]


async def test_a_certificate_that_has_ended_is_nobody_any_more_on_an_open_connection(
    serve: Serve, authority: Authority, issuer: Issuer
) -> None:
    """W3: the handshake looked at its end once; each call looks again."""
    address = await serve(
        **authority.issue("server", "engine").settings(),
        tls_require_client_cert=True,
        tls_roles="engine.okey=engine",
    )
    files = authority.issue("caller", "engine.okey")
    certificate = x509.load_pem_x509_certificate(files.cert.read_bytes())
    ends_ms = int(certificate.not_valid_after_utc.timestamp() * 1000)
    async with open_channel(address, security=tls(authority.ca, files)) as channel:
        caller = Caller(channel)
        issuer.clock.advance_ms(ends_ms - 1 - issuer.clock.now_ms())
        assert await caller.call(UNARY, ask()) == ["engine.okey"]
        issuer.clock.advance_ms(1)
        assert (await caller.refusal(UNARY)).reason == "TOKEN_EXPIRED"


def spoil_key(files: Files, jwks: Path) -> None:
    files.key.chmod(0o644)


def spoil_jwks(files: Files, jwks: Path) -> None:
    jwks.write_text("no keys")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [(spoil_key, "can be read by everybody"), (spoil_jwks, "jwks.json")],
)
def test_a_service_whose_files_cannot_be_used_says_so_in_one_line(
    authority: Authority,
    issuer: Issuer,
    tmp_path: Path,
    spoil: Callable[[Files, Path], None],
    told: str,
) -> None:
    files = authority.issue("server", "engine")
    spoil(files, issuer.jwks)
    named = {"environment": "test", "jwks_file": issuer.jwks, "listen_port": 0, "metrics_port": 0}
    named["tls_require_client_cert"] = "true"
    variables = {f"OKEY_{key.upper()}": str(it) for key, it in (named | files.settings()).items()}
    service = subprocess.run(
        [sys.executable, "-m", "services.rating"],
        env=os.environ | variables | {"OKEY_DATABASE_URL": f"sqlite:///{tmp_path / 'r.db'}"},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert service.returncode == UNUSABLE_SETTINGS, service.stderr
    [line] = service.stderr.splitlines()
    assert "settings_refused" in line
    assert told in line


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda files: files.key.chmod(0o644), "can be read by everybody"),
        (lambda files: files.key.write_text("x"), "holds no private key"),
        (lambda files: files.cert.write_text("x"), "holds no certificate"),
        (lambda files: files.ca.write_text("x"), "holds no certificate"),
        (lambda files: files.cert.unlink(), "cannot be read"),
        (lambda files: os.replace(files.key.with_name("other.key"), files.key), "is not the key"),
    ],
)
def test_files_that_cannot_be_used_are_told_at_the_start(
    authority: Authority, spoil: Callable[[Files], object], told: str
) -> None:
    authority.issue("other", "other")
    files = authority.issue("server", "engine")
    spoil(files)
    with pytest.raises(CertificateBroken, match=told):
        CertificateFiles(cert_file=files.cert, key_file=files.key, ca_file=files.ca)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"listen_host": "0.0.0.0"}, "OKEY_ALLOW_PLAINTEXT"),
        ({"tls_cert_file": "a.crt"}, "belong together"),
        ({"tls_cert_file": "a.crt", "tls_key_file": "a.key"}, "OKEY_TLS_CA_FILE"),
        ({"tls_require_client_cert": True}, "OKEY_TLS_CERT_FILE"),
        (TLS_FILES, "OKEY_TLS_REQUIRE_CLIENT_CERT=true: over TLS a token's role of a service"),
        (
            TLS_FILES
            | {"tls_require_client_cert": True, "tls_roles": "e=lobby", "tls_edge_name": "e"},
            "OKEY_TLS_ROLES gives 'e' roles",
        ),
        ({"tls_roles": "a=lobby"}, "OKEY_TLS_REQUIRE_CLIENT_CERT"),
        ({"tls_edge_name": "edge"}, "OKEY_TLS_EDGE_NAME needs OKEY_TLS_REQUIRE_CLIENT_CERT"),
        ({"tls_roles": "a=player"}, "never a player"),
    ],
)
def test_settings_that_leave_a_door_open_are_refused(
    changes: dict[str, object], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    for name, value in changes.items():
        monkeypatch.setenv(f"OKEY_{name.upper()}", str(value))
    with pytest.raises(SettingsRefused, match=told):
        ServiceSettings.read()


async def test_plaintext_beyond_loopback_is_served_by_a_setting_that_warns(serve: Serve) -> None:
    with capture_logs() as lines:
        await serve(listen_host="0.0.0.0", allow_plaintext=True)
        await serve()
    warned = [line["address"] for line in lines if line["event"] == "connections_are_plaintext"]
    assert warned == ["0.0.0.0:0"]


@pytest.mark.parametrize(
    "target",
    [
        *("10.0.0.7:7402", "dns:///wallet:7400", "wallet:7403", "[::2]:1"),
        # Each address counts, wherever it stands.
        *(
            "ipv4:127.0.0.1:1,10.0.0.7:1",
            "ipv4:10.0.0.7:1,127.0.0.1:1",
            "ipv4:127.0.0.1:1,10.0.0.7",
        ),
        *("ipv6:[::1]:1,[::2]:1", "ipv4:127.0.0.1:1,"),
    ],
)
async def test_nothing_is_sent_in_plaintext_beyond_this_machine(target: str) -> None:
    with pytest.raises(PlaintextRefused, match="not on this machine"):
        open_channel(target)
    async with open_channel(target, security=Plaintext.ANYWHERE):
        pass


@pytest.mark.parametrize(
    ("target", "hosts"),
    [
        ("127.0.0.1:7402", ["127.0.0.1"]),
        ("dns:///localhost:1", ["localhost"]),
        ("dns:127.0.0.1:1", ["127.0.0.1"]),
        ("ipv4:127.0.0.1:1", ["127.0.0.1"]),
        ("ipv4:127.0.0.1:1,127.0.0.2:2", ["127.0.0.1", "127.0.0.2"]),
        ("ipv4:///127.0.0.1:1,127.0.0.2", ["127.0.0.1", "127.0.0.2"]),
        ("[::1]:7402", ["::1"]),
        ("ipv6:[::1]:1,[::1]:2", ["::1", "::1"]),
        ("unix:/tmp/x", ["localhost"]),
    ],
)
async def test_the_hosts_of_a_target_are_found(target: str, hosts: list[str]) -> None:
    assert hosts_of(target) == hosts
    assert all(map(is_loopback, hosts))
    async with open_channel(target):
        pass


async def test_replicas_on_this_machine_are_dialled_in_plaintext() -> None:
    """What a cluster of processes on loopback is to its callers."""
    async with open_channel(replicas_target(["127.0.0.1:7501", "127.0.0.1:7502"])):
        pass
    with pytest.raises(PlaintextRefused):
        open_channel(replicas_target(["127.0.0.1:7501", "10.0.0.7:7502"]))


@pytest.mark.parametrize(
    "text", ["lobby", "a=", "=lobby", "a=cook", "a/b=lobby", "a=lobby,player=player"]
)
def test_roles_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(RolesMalformed):
        parse_roles(text)


def test_a_name_may_have_several_roles() -> None:
    assert parse_roles("ops.okey=operator+integrator, lobby.okey=lobby") == {
        "ops.okey": {"operator", "integrator"},
        "lobby.okey": {"lobby"},
    }
