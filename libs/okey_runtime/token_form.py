"""The one form in which a token is taken: its header is checked before any key is looked for, its
claims once the signature is good.

JOSE allows far more than an access token needs: payloads that are not encoded (RFC 7797), keys
within the token, compression, tokens within tokens. None of it is taken here. What is left has one
spelling for one meaning, so that no two readers of a token can understand it differently.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_REFUSED: Final = ("crit", "b64", "jwk", "jku", "x5u", "x5c", "zip", "enc", "cty")
"""Header parameters that change how a token is read, or bring their own key."""
_TYPES: Final = frozenset({"jwt", "at+jwt"})
"""RFC 7519, and RFC 9068 for access tokens; both also with ``application/`` before it."""
_MOST_HEADER_CHARS: Final = 512
_MOST_HEADERS: Final = 64
"""How many are remembered: an issuer writes the same one into all tokens of a key."""


class OddToken(ValueError):
    """The token does not have the form; the message says in what, and quotes none of it."""


@dataclass(frozen=True, slots=True)
class CompactToken:
    """A token whose header has the one form; whether its claims have it is asked once its
    signature is known to be good, so that a forged token costs no more than its header.
    """

    header: Mapping[str, Any]
    signed: bytes
    """Header and claims as they stand in the token, which the signature is for."""
    signature: bytes
    _claims_part: str

    def claims(self) -> dict[str, Any]:
        """The token's claims.

        Raises:
            OddToken: they are no JSON object in the one form.
            RecursionError: their JSON is nested too deep.
        """
        return _object(self._claims_part, "claims")


def read_token(token: str) -> CompactToken:
    """The token's parts, where its header has the one form.

    A ``typ`` may be missing, since RFC 7519 leaves it to the issuer. Where it stands, it says that
    this is an access token: an issuer's logout, DPoP or identity-event token is none.

    Raises:
        OddToken: it is no compact JWS, or asks for what is not taken.
        RecursionError: its JSON is nested too deep.
    """
    if not _COMPACT.fullmatch(token):
        raise OddToken("a token is three parts of base64url with dots between, and nothing else")
    signed, _, signature_part = token.rpartition(".")
    header_part, _, claims_part = signed.partition(".")
    if len(header_part) > _MOST_HEADER_CHARS:
        raise OddToken(f"the token's header is longer than {_MOST_HEADER_CHARS} characters")
    header, signature = _header(header_part), _decoded(signature_part)
    return CompactToken(header, signed.encode(), signature, claims_part)


@lru_cache(maxsize=_MOST_HEADERS)
def _header(part: str) -> Mapping[str, Any]:
    header = _object(part, "header")
    for name in _REFUSED:
        if name in header:
            raise OddToken(f"the token's header may not have {name!r}")
    _check_type(header)
    return header


def _check_type(header: dict[str, Any]) -> None:
    kind = header.get("typ", "JWT")
    if not isinstance(kind, str) or kind.lower().removeprefix("application/") not in _TYPES:
        raise OddToken("the token's 'typ' must be JWT or at+jwt, or be left out")


def _object(part: str, what: str) -> dict[str, Any]:
    try:
        read = json.loads(
            _decoded(part).decode(), object_pairs_hook=_each_once, parse_constant=_no_number
        )
    except OddToken:
        raise
    except ValueError as error:
        raise OddToken(f"the token's {what} is no JSON in UTF-8") from error
    if not isinstance(read, dict):
        raise OddToken(f"the token's {what} is no JSON object")
    return read


def _decoded(part: str) -> bytes:
    """The bytes of a part, which has only one way to be written."""
    try:
        content = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError as error:
        raise OddToken("a part of the token is no base64url") from error
    if base64.urlsafe_b64encode(content).rstrip(b"=") != part.encode():
        raise OddToken("a part of the token is base64url with stray bits at its end")
    return content


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise OddToken("the token's JSON names a member twice")
    return read


def _no_number(name: str) -> None:
    raise OddToken("the token's JSON has a number that is none")
