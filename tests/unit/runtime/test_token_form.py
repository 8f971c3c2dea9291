"""The one form of a token: each odd one is signed well, and refused all the same."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import OKPKey

from okey_runtime.auth import TokenInvalid
from okey_runtime.keys import JwksFile
from tests.unit.runtime.tokens import Issuer, encoded

HEADER = {"alg": "EdDSA", "kid": "first", "typ": "JWT"}


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    return Issuer.at(tmp_path)


def b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def signed_parts(key: OKPKey, header: str, claims: str) -> str:
    """The two parts as they are, with a signature that is right for them."""
    private: Any = key.private_key
    return f"{header}.{claims}.{b64(private.sign(f'{header}.{claims}'.encode()))}"


def token(issuer: Issuer, **header: object) -> str:
    return signed_parts(issuer.key, encoded(HEADER | header), encoded(issuer.claims()))


def test_the_builder_of_odd_tokens_makes_good_ones(issuer: Issuer) -> None:
    """Else the refusals below would be of the signature."""
    assert issuer.verifier().verify(token(issuer)).subject == "ayse"


@pytest.mark.parametrize(
    "kind", ["JWT", "jwt", "Jwt", "at+jwt", "AT+JWT", "application/at+jwt", "application/jwt"]
)
def test_the_type_says_that_it_is_an_access_token(issuer: Issuer, kind: str) -> None:
    assert issuer.verifier().verify(token(issuer, typ=kind)).subject == "ayse"


def test_a_type_may_be_left_out(issuer: Issuer) -> None:
    header = {name: value for name, value in HEADER.items() if name != "typ"}
    made = signed_parts(issuer.key, encoded(header), encoded(issuer.claims()))
    assert issuer.verifier().verify(made).subject == "ayse"


@pytest.mark.parametrize(
    "kind",
    [
        *("dpop+jwt", "logout+jwt", "secevent+jwt", "JOSE", "JWE", "", " JWT", "application/"),
        *("text/jwt", "application/application/jwt", None, 7, ["JWT"], {"JWT": 1}, True),
    ],
    ids=str,
)
def test_a_token_of_another_type_is_refused(issuer: Issuer, kind: object) -> None:
    with pytest.raises(TokenInvalid, match="'typ' must be JWT or at\\+jwt"):
        issuer.verifier().verify(token(issuer, typ=kind))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("crit", ["exp"]),
        ("crit", []),
        ("b64", False),
        ("b64", True),
        ("jwk", {"kty": "OKP"}),
        ("jku", "https://elsewhere.example/jwks"),
        ("x5u", "https://elsewhere.example/chain"),
        ("x5c", ["MII"]),
        ("zip", "DEF"),
        ("enc", "A256GCM"),
        ("cty", "JWT"),
        ("cty", None),
    ],
)
def test_headers_that_change_how_a_token_is_read_are_refused(
    issuer: Issuer, name: str, value: object
) -> None:
    with pytest.raises(TokenInvalid, match=f"'{name}'"):
        issuer.verifier().verify(token(issuer, **{name: value}))


def unencoded(issuer: Issuer) -> str:
    """RFC 7797: the claims stand in the token as they are."""
    header = encoded(HEADER | {"b64": False, "crit": ["b64"]})
    return signed_parts(issuer.key, header, json.dumps(issuer.claims()))


def doubled(text: str) -> str:
    """The JSON with its first member twice, the second time with another value."""
    name = text.split(":", 1)[0].removeprefix("{")
    return f'{text[:-1]}, {name}: "x"}}'


def stray_bits(part: str) -> str:
    """Another spelling of the same bytes: a bit beyond them is set."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    assert len(part) % 4, "a part without unused bits has one spelling only"
    other = part[:-1] + letters[letters.index(part[-1]) + 1]
    assert base64.urlsafe_b64decode(other + "==") == base64.urlsafe_b64decode(part + "==")
    return other


def flattened(issuer: Issuer) -> str:
    header, claims, signature = token(issuer).split(".")
    return json.dumps({"protected": header, "payload": claims, "signature": signature})


def with_header(issuer: Issuer, text: str | bytes) -> str:
    content = text if isinstance(text, bytes) else text.encode()
    return signed_parts(issuer.key, b64(content), encoded(issuer.claims()))


def with_claims(issuer: Issuer, text: str | bytes) -> str:
    content = text if isinstance(text, bytes) else text.encode()
    return signed_parts(issuer.key, encoded(HEADER), b64(content))


def odd_part(issuer: Issuer, index: int) -> str:
    """The whole token with one part spelt in another way."""
    length = 0
    while True:  # a header or claims long enough to leave unused bits
        parts = token(issuer, pad="x" * length).split(".")
        if len(parts[index]) % 4:
            break
        length += 1
    if index < 2:
        parts[index] = stray_bits(parts[index])
        return signed_parts(issuer.key, parts[0], parts[1])
    parts[index] = stray_bits(parts[index])
    return ".".join(parts)


ODD: dict[str, Callable[[Issuer], str]] = {
    "an unencoded payload": unencoded,
    "a detached payload": lambda i: token(i).split(".")[0] + ".." + token(i).split(".")[2],
    "flattened JSON": flattened,
    "a space before": lambda i: " " + token(i),
    "a line break after": lambda i: token(i) + "\n",
    "a space within": lambda i: token(i).replace(".", " .", 1),
    "a dot after": lambda i: token(i) + ".",
    "a dot before": lambda i: "." + token(i),
    "five parts": lambda i: token(i) + ".e30.e30",
    "two parts": lambda i: token(i).rpartition(".")[0],
    "padding": lambda i: token(i) + "=",
    "the other alphabet": lambda i: signed_parts(i.key, encoded(HEADER), "+/+/"),
    "one letter too many": lambda i: token(i) + "A",
    "a null": lambda i: token(i) + "\0",
    "letters of another script": lambda i: token(i).replace(".", ".а", 1),
    "a header spelt otherwise": lambda i: odd_part(i, 0),
    "a signature spelt otherwise": lambda i: odd_part(i, 2),
    "a header member twice": lambda i: with_header(i, doubled(json.dumps(HEADER))),
    "a claim twice": lambda i: with_claims(i, doubled(json.dumps(i.claims()))),
    "a nested member twice": lambda i: with_claims(
        i, json.dumps(i.claims())[:-1] + ', "x": {"a": 1, "a": 2}}'
    ),
    "a header in UTF-16": lambda i: with_header(i, json.dumps(HEADER).encode("utf-16")),
    "claims in UTF-16": lambda i: with_claims(i, json.dumps(i.claims()).encode("utf-16")),
    "claims with a mark before": lambda i: with_claims(
        i, b"\xef\xbb\xbf" + json.dumps(i.claims()).encode()
    ),
    "claims that are no UTF-8": lambda i: with_claims(i, b'{"sub": "\xff"}'),
    "NaN": lambda i: with_claims(i, json.dumps(i.claims())[:-1] + ', "x": NaN}'),
    "infinity": lambda i: with_claims(i, json.dumps(i.claims())[:-1] + ', "x": -Infinity}'),
    "a header that is a list": lambda i: with_header(i, json.dumps([HEADER])),
    "claims that are text": lambda i: with_claims(i, json.dumps(json.dumps(i.claims()))),
    "a token within": lambda i: with_claims(i, token(i)),
    "no header": lambda i: with_header(i, "{}"),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_odd_is_refused(issuer: Issuer, what: str) -> None:
    odd = ODD[what](issuer)
    with pytest.raises(TokenInvalid) as refused:
        issuer.verifier().verify(odd)
    assert not any(part in str(refused.value) for part in odd.split(".") if len(part) > 8)


OF_CLAIMS = {
    *("a claim twice", "a nested member twice", "claims in UTF-16", "claims with a mark before"),
    *("claims that are no UTF-8", "NaN", "infinity", "claims that are text", "a token within"),
}


@pytest.mark.parametrize("what", sorted(OF_CLAIMS))
def test_claims_are_not_read_before_their_signature_is_good(issuer: Issuer, what: str) -> None:
    """Anybody can write claims, and they may be long; a signature costs the same each time."""
    signed, _, _ = ODD[what](issuer).rpartition(".")
    with pytest.raises(TokenInvalid, match="BadSignature"):
        issuer.verifier().verify(f"{signed}.{b64(bytes(64))}")


@pytest.mark.parametrize("length", [0, 63, 65, 256])
def test_a_signature_of_another_length_is_refused(issuer: Issuer, length: int) -> None:
    signed, _, _ = token(issuer).rpartition(".")
    with pytest.raises(TokenInvalid):
        issuer.verifier().verify(f"{signed}.{b64(bytes(length))}")


def test_a_header_is_no_longer_than_512_characters(issuer: Issuer) -> None:
    with pytest.raises(TokenInvalid, match="longer than 512 characters"):
        issuer.verifier().verify(token(issuer, pad="x" * 512))


def test_a_header_parameter_that_nobody_knows_is_refused(issuer: Issuer) -> None:
    with pytest.raises(TokenInvalid, match="UnsupportedHeader"):
        issuer.verifier().verify(token(issuer, pad="x"))


@pytest.mark.parametrize(
    "what", sorted(set(ODD) - OF_CLAIMS - {"no header", "one letter too many"})
)
def test_it_is_refused_before_a_key_is_looked_for(
    issuer: Issuer, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = issuer.verifier()
    asked: list[str] = []
    monkeypatch.setattr(JwksFile, "find", lambda _, key_id: asked.append(key_id))
    with pytest.raises(TokenInvalid):
        verifier.verify(ODD[what](issuer))
    assert asked == []
