"""The one form in which a token is taken, checked before any key is looked for.

JOSE allows far more than an access token needs: payloads that are not encoded (RFC 7797), keys
within the token, compression, tokens within tokens. None of it is taken here. What is left has one
spelling for one meaning, so that no two readers of a token can understand it differently.
"""

import base64
import json
import re
from typing import Any, Final

_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_REFUSED: Final = ("crit", "b64", "jwk", "jku", "x5u", "x5c", "zip", "enc", "cty")
"""Header parameters that change how a token is read, or bring their own key."""
_TYPES: Final = frozenset({"jwt", "at+jwt"})
"""RFC 7519, and RFC 9068 for access tokens; both also with ``application/`` before it."""


class OddToken(ValueError):
    """The token does not have the form; the message says in what, and quotes none of it."""


def read_header(token: str) -> dict[str, Any]:
    """The token's header, where header and claims have the one form.

    A ``typ`` may be missing, since RFC 7519 leaves it to the issuer. Where it stands, it says that
    this is an access token: an issuer's logout, DPoP or identity-event token is none.

    Raises:
        OddToken: it is no compact JWS of two JSON objects, or asks for what is not taken.
        RecursionError: its JSON is nested too deep.
    """
    if not _COMPACT.fullmatch(token):
        raise OddToken("a token is three parts of base64url with dots between, and nothing else")
    header_part, claims_part, signature_part = token.split(".")
    header = _object(header_part, "header")
    for name in _REFUSED:
        if name in header:
            raise OddToken(f"the token's header may not have {name!r}")
    _check_type(header)
    _object(claims_part, "claims")
    _decoded(signature_part)
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
