import base64
import hmac
from pathlib import Path

import pytest
from joserfc import jws, jwt
from joserfc.jwk import OKPKey, RSAKey

from okey_runtime.auth import (
    Identity,
    Role,
    SubjectReserved,
    TokenExpired,
    TokenInvalid,
    TokenLivesTooLong,
    TokenRevoked,
    bearer_token,
    mint,
    write_jwks,
)
from okey_runtime.revocation import Revocation, Revocations
from tests.unit.runtime.tokens import HOUR_MS, ISSUER, SKEW_MS, Issuer, encoded

# The library warns of each token that a test signs by hand.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated")


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    return Issuer.at(tmp_path)


def signed(issuer: Issuer, claims: dict[str, object], **header: object) -> str:
    return jwt.encode(
        {"alg": "EdDSA", "kid": "first", **header}, claims, issuer.key, algorithms=["EdDSA"]
    )


def test_a_good_token_tells_who_calls(issuer: Issuer) -> None:
    now_ms = issuer.clock.now_ms()
    claims = issuer.claims(name="Ayşe", roles=["player", "integrator"], jti="t-1", sid="s-1")
    assert issuer.verifier().verify(signed(issuer, claims)) == Identity(
        "ayse",
        frozenset({Role.PLAYER, Role.INTEGRATOR}),
        "Ayşe",
        (now_ms + HOUR_MS) // 1000 * 1000 + SKEW_MS,
        issued_ms=now_ms // 1000 * 1000,
        token_id="t-1",
        session_id="s-1",
        has_token=True,
    )


def test_tokens_of_ours_have_each_an_id_of_its_own(issuer: Issuer) -> None:
    verifier = issuer.verifier()
    ids = {verifier.verify(issuer.token("ayse")).token_id for _ in range(3)}
    assert len(ids) == 3
    assert "" not in ids


def test_a_token_of_others_needs_no_id(issuer: Issuer) -> None:
    identity = issuer.verifier().verify(signed(issuer, issuer.claims()))
    assert (identity.token_id, identity.session_id) == ("", "")


@pytest.mark.parametrize("claim", ["jti", "sid"])
@pytest.mark.parametrize("value", ["", "x" * 129, "a b", "ü", "\n", 7, ["a"], True])
def test_an_id_is_visible_text_of_bounded_length(issuer: Issuer, claim: str, value: object) -> None:
    with pytest.raises(TokenInvalid):
        issuer.verifier().verify(signed(issuer, issuer.claims(**{claim: value})))


DAY_S = 86_400


@pytest.mark.parametrize("roles", [["player"], ["player", "operator"]])
def test_a_players_token_lives_no_longer_than_a_day(issuer: Issuer, roles: list[str]) -> None:
    now_s = issuer.clock.now_ms() // 1000
    verifier = issuer.verifier()
    longest = signed(issuer, issuer.claims(roles=roles, exp=now_s + DAY_S))
    assert verifier.verify(longest).subject == "ayse"
    with pytest.raises(TokenLivesTooLong, match=r"86401 s from 'iat' to 'exp'.* 86400 s"):
        verifier.verify(signed(issuer, issuer.claims(roles=roles, exp=now_s + DAY_S + 1)))


def test_an_old_iat_makes_no_long_life_shorter(issuer: Issuer) -> None:
    now_s = issuer.clock.now_ms() // 1000
    claims = issuer.claims(iat=now_s - DAY_S, exp=now_s + 1)
    with pytest.raises(TokenLivesTooLong):
        issuer.verifier().verify(signed(issuer, claims))


@pytest.mark.parametrize("role", sorted(set(Role) - {Role.PLAYER}))
def test_others_tokens_may_live_longer(issuer: Issuer, role: Role) -> None:
    token = issuer.token("x-service", [role], ttl_ms=30 * DAY_S * 1000)
    assert issuer.verifier().verify(token).roles == {role}


def test_a_revoked_token_is_refused_although_it_is_remembered(issuer: Issuer) -> None:
    revocations = Revocations(issuer.clock)
    verifier = issuer.verifier(revocations=revocations)
    token = issuer.token("ayse")
    identity = verifier.verify(token)
    assert verifier.remembers(token)
    ends_ms = identity.expires_ms
    revocations.take([Revocation(ends_ms, token_id=identity.token_id)])
    for _ in range(2):
        with pytest.raises(TokenRevoked):
            verifier.verify(token)
    assert verifier.verify(issuer.token("ayse")).subject == "ayse", "another token of hers"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[2J\x1b[31mAyşe\x00\x9b", "[2J[31mAyşe"),
        ("Ayşe\r\nMehmet\u2028x\u2029y", "Ayşe Mehmet x y"),
        ("\u202eeşyA\u2066\u200b\ufeff", "eşyA"),
        ("a \u202e b\t\tc  ", "a b c"),
        (" \u00a0\u2003\u200b", ""),
        ("\u3164\u2800\u115f", ""),
        ("\u0301\u034f", ""),
        ("\ue000\u0378", ""),
        ("Ayşe 🎲", "Ayşe 🎲"),
        ("", ""),
    ],
    ids=ascii,
)
def test_a_name_is_shown_in_one_line_and_steers_nothing(
    issuer: Issuer, written: str, shown: str
) -> None:
    token = signed(issuer, issuer.claims(name=written))
    assert issuer.verifier().verify(token).name == shown


@pytest.mark.parametrize("subject", ["house:rake", "bot:1", "bots:1", "system:x", "engine", "bots"])
def test_an_id_of_the_house_is_no_players(issuer: Issuer, subject: str) -> None:
    """M3: whoever plays can be erased, and these cannot."""
    token = signed(issuer, issuer.claims(sub=subject, roles=["operator", "player"]))
    with pytest.raises(SubjectReserved, match=subject):
        issuer.verifier().verify(token)
    with pytest.raises(ValueError, match=f"'{subject}' is the house's"):
        issuer.token(subject, [Role.OPERATOR, Role.PLAYER])
    service = issuer.verifier().verify(issuer.token(subject, [Role.ENGINE]))
    assert (service.subject, service.player) == (subject, "")


def test_a_token_signed_with_an_rsa_key_is_good(issuer: Issuer) -> None:
    rsa = RSAKey.generate_key(2048, {"kid": "rsa"})
    write_jwks(issuer.jwks, issuer.key, rsa)
    assert issuer.verifier().verify(issuer.token("ayse", key=rsa)).subject == "ayse"


def test_an_audience_may_be_one_of_several(issuer: Issuer) -> None:
    token = signed(issuer, issuer.claims(aud=["other", "okey"]))
    assert issuer.verifier().verify(token).subject == "ayse"


def test_a_role_of_a_later_version_grants_nothing(issuer: Issuer) -> None:
    token = signed(issuer, issuer.claims(roles=["player", "referee"]))
    assert issuer.verifier().verify(token).roles == {Role.PLAYER}


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "a b"},
        {"sub": "a" * 65},
        {"sub": 7},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": 1.8e9},
        {"iat": None},
        {"iat": 99_999_999_999},
        {"nbf": 99_999_999_999},
        {"exp": 10**400},
        {"exp": 253_402_300_800},
        {"exp": -1},
        {"exp": True},
        {"iat": -1},
        {"iat": float("nan")},
        {"iat": "today"},
        {"nbf": -(10**400)},
        {"nbf": float("-inf")},
        {"roles": None},
        {"roles": "player"},
        {"roles": [1]},
        {"name": 7},
        {"name": "x" * 65},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_token_with_wrong_or_missing_claims_is_invalid(
    issuer: Issuer, changes: dict[str, object]
) -> None:
    with pytest.raises(TokenInvalid):
        issuer.verifier().verify(signed(issuer, issuer.claims(**changes)))


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "a.b.c", "x" * 5_000, "é.é.é", "\udcff", f"{encoded({})}.{encoded({})}."],
    ids=["empty", "dot", "dots", "letters", "long", "accents", "surrogate", "no header"],
)
def test_what_is_no_token_is_invalid(issuer: Issuer, token: str) -> None:
    with pytest.raises(TokenInvalid):
        issuer.verifier().verify(token)


def test_a_token_signed_by_somebody_elses_key_of_the_same_id_is_invalid(issuer: Issuer) -> None:
    forger = OKPKey.generate_key("Ed25519", {"kid": "first"})
    with pytest.raises(TokenInvalid):
        issuer.verifier().verify(issuer.token("ayse", key=forger))


def test_a_token_of_an_unknown_key_id_is_invalid(issuer: Issuer) -> None:
    with pytest.raises(TokenInvalid, match="kid"):
        issuer.verifier().verify(signed(issuer, issuer.claims(), kid="other"))


def test_a_changed_claim_makes_the_token_invalid(issuer: Issuer) -> None:
    header, _, signature = issuer.token("ayse").split(".")
    changed = encoded(issuer.claims(sub="mehmet"))
    with pytest.raises(TokenInvalid):
        issuer.verifier().verify(f"{header}.{changed}.{signature}")


def test_alg_none_is_invalid(issuer: Issuer) -> None:
    token = f"{encoded({'alg': 'none', 'kid': 'first'})}.{encoded(issuer.claims())}."
    with pytest.raises(TokenInvalid, match="alg"):
        issuer.verifier().verify(token)


def test_hs256_with_the_public_key_as_secret_is_invalid(issuer: Issuer) -> None:
    secret = issuer.key.as_bytes(encoding="PEM", private=False)
    body = f"{encoded({'alg': 'HS256', 'kid': 'first'})}.{encoded(issuer.claims())}"
    mac = hmac.digest(secret, body.encode(), "sha256")
    signature = base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
    with pytest.raises(TokenInvalid, match="alg"):
        issuer.verifier().verify(f"{body}.{signature}")


def test_the_key_and_not_the_token_says_the_algorithm(issuer: Issuer) -> None:
    rsa = RSAKey.generate_key(2048, {"kid": "rsa"})
    write_jwks(issuer.jwks, issuer.key, rsa)
    token = jwt.encode({"alg": "RS384", "kid": "rsa"}, issuer.claims(), rsa, algorithms=["RS384"])
    with pytest.raises(TokenInvalid, match="RS256"):
        issuer.verifier().verify(token)


def test_claims_that_are_nested_too_deep_are_invalid(issuer: Issuer) -> None:
    """And no unexpected error, whatever an issuer lets into a claim of its own. How deep JSON may
    be differs by Python: some find it too deep, others without an end.
    """
    header = {"alg": "EdDSA", "kid": "first"}
    token = jws.serialize_compact(header, b"[" * 2_900, issuer.key, algorithms=["EdDSA"])
    with pytest.raises(TokenInvalid):
        issuer.verifier().verify(token)


def test_an_error_never_quotes_the_token(issuer: Issuer) -> None:
    token = issuer.token("ayse", issuer="elsewhere")
    with pytest.raises(TokenInvalid) as refused:
        issuer.verifier().verify(token)
    assert not any(part in str(refused.value) for part in token.split("."))


def test_a_token_ends_with_its_expiry_and_the_allowed_skew(issuer: Issuer) -> None:
    token = issuer.token(ttl_ms=60_000)
    issuer.clock.advance_ms(60_000 + 29_999)
    assert issuer.verifier().verify(token).subject == "ayse"
    issuer.clock.advance_ms(1_001)
    with pytest.raises(TokenExpired):
        issuer.verifier().verify(token)


def test_a_remembered_token_ends_at_the_same_moment(issuer: Issuer) -> None:
    verifier = issuer.verifier()
    token = issuer.token(ttl_ms=60_000)
    first = verifier.verify(token)
    issuer.clock.advance_ms(60_000 + 29_999)
    assert verifier.verify(token) is first
    issuer.clock.advance_ms(1_001)
    with pytest.raises(TokenExpired):
        verifier.verify(token)


def test_calls_and_streams_go_by_the_same_end(issuer: Issuer) -> None:
    """A stream ends at ``expires_ms``: until then, and not after, the token opens a new one."""
    token = issuer.token(ttl_ms=60_000)
    ends_ms = issuer.verifier().verify(token).expires_ms
    remembering = issuer.verifier()
    issuer.clock.advance_ms(ends_ms - issuer.clock.now_ms() - 1)
    for verifier in (remembering, issuer.verifier()):
        assert verifier.verify(token).expires_ms == ends_ms
    issuer.clock.advance_ms(1)
    for verifier in (remembering, issuer.verifier()):
        with pytest.raises(TokenExpired):
            verifier.verify(token)


def test_a_clock_that_runs_ahead_by_the_skew_is_forgiven(issuer: Issuer) -> None:
    now_s = issuer.clock.now_ms() // 1000
    verifier = issuer.verifier()
    early = signed(issuer, issuer.claims(iat=now_s + 30, nbf=now_s + 30))
    assert verifier.verify(early).subject == "ayse"
    with pytest.raises(TokenInvalid):
        verifier.verify(signed(issuer, issuer.claims(nbf=now_s + 31)))


def test_a_token_is_verified_once_and_remembered(issuer: Issuer) -> None:
    verifier = issuer.verifier()
    token = issuer.token()
    assert verifier.verify(token) is verifier.verify(token)


def test_only_so_many_tokens_are_remembered(issuer: Issuer) -> None:
    verifier = issuer.verifier(cache_size=2)
    first, *others = (issuer.token(f"p{number}") for number in range(3))
    remembered = verifier.verify(first)
    for token in others:
        verifier.verify(token)
    again = verifier.verify(first)
    assert again == remembered
    assert again is not remembered


def test_a_remembered_token_is_void_once_its_key_is_withdrawn(issuer: Issuer) -> None:
    verifier = issuer.verifier()
    token = issuer.token()
    verifier.verify(token)
    successor = OKPKey.generate_key("Ed25519", {"kid": "second"})
    write_jwks(issuer.jwks, successor)
    with pytest.raises(TokenInvalid):
        verifier.verify(token)
    assert verifier.verify(issuer.token(key=successor)).subject == "ayse"


@pytest.mark.parametrize("subject", ["", "a b", "ş", "a" * 65])
def test_no_token_is_made_for_a_malformed_subject(issuer: Issuer, subject: str) -> None:
    with pytest.raises(ValueError, match="subject"):
        issuer.token(subject)


def test_no_token_is_made_with_too_long_a_name(issuer: Issuer) -> None:
    with pytest.raises(ValueError, match="display name"):
        mint(issuer.key, subject="a", roles=[], now_ms=0, ttl_ms=1, name="x" * 65, issuer=ISSUER)


@pytest.mark.parametrize("value", ["Bearer abc", "bearer abc", "BEARER  abc "])
def test_a_bearer_token_is_found_in_the_metadata(value: str) -> None:
    assert bearer_token([("x", "y"), ("authorization", value)]) == "abc"


def test_no_authorization_means_no_token() -> None:
    assert bearer_token([("x", "y")]) is None


@pytest.mark.parametrize(
    "metadata",
    [
        [("authorization", "abc")],
        [("authorization", "Basic abc")],
        [("authorization", b"Bearer abc")],
        [("authorization", "Bearer a"), ("authorization", "Bearer b")],
    ],
    ids=["bare", "basic", "bytes", "twice"],
)
def test_an_authorization_of_another_form_is_refused(
    metadata: list[tuple[str, str | bytes]],
) -> None:
    with pytest.raises(TokenInvalid, match="Bearer"):
        bearer_token(metadata)
