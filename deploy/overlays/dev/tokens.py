"""Tokens for the dev overlay, printed for ``kubectl apply -f -``: who may be trusted, and who each
service is.

    python -m deploy.overlays.dev.tokens | kubectl apply -f -
    python -m deploy.overlays.dev.tokens --player ali

They are signed with a key that this command makes for such clusters and keeps beside this user's
development key. Nothing of this is for an environment that matters: there an identity provider
signs, and secrets come from a store.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from joserfc.jwk import OKPKey

from okey_runtime.audiences import audience_for
from okey_runtime.auth import Role, mint
from okey_runtime.clock import Clock, SystemClock
from okey_runtime.dev_platform import dev_key_file
from okey_runtime.keys import signing_key_at
from okey_runtime.own_tokens import token_file
from services.standalone.tokens import CALLED_BY

ISSUER: Final = "okey-dev-cluster"
"""The overlay's OKEY_TOKEN_ISSUER; production refuses standalone's issuer, not this one."""

NAMESPACE: Final = "okey-dev"
CALLERS: Final = (Role.ENGINE, Role.LOBBY, Role.WALLET, Role.RATING)
"""The services that call others, and so need tokens of their own."""

_DAY_MS: Final = 86_400_000
_SERVICE_TTL_DAYS: Final = 30


def cluster_key() -> OKPKey:
    """The key that signs for development clusters; made where there is none."""
    return signing_key_at(dev_key_file().with_name("cluster-signing-key.json"), "dev-cluster")


def secrets(key: OKPKey, clock: Clock) -> dict[str, Mapping[str, str]]:
    """The contents of each Secret by its name: the JWKS, and for each caller a token (30 days) for
    everyone whom it calls.
    """
    made: dict[str, Mapping[str, str]] = {
        "okey-jwks": {"jwks.json": json.dumps({"keys": [key.as_dict(private=False)]})}
    }
    for role in CALLERS:
        made[f"{role}-service-token"] = {
            token_file(callee): _token(
                key, clock, f"{role}-service", role, _SERVICE_TTL_DAYS, callee
            )
            for callee in CALLED_BY[role]
        }
    return made


def manifest(contents: Mapping[str, Mapping[str, str]]) -> str:
    """The Secrets as one JSON list that kubectl applies."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "type": "Opaque",
            "stringData": data,
        }
        for name, data in contents.items()
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the Secrets, or with ``--player`` one player's token (a day)."""
    parser = argparse.ArgumentParser(description="Tokens for the dev overlay.")
    parser.add_argument("--player", metavar="ID", help="print a token for this player instead")
    player: str | None = parser.parse_args(arguments).player
    key, clock = cluster_key(), SystemClock()
    if player is None:
        text = manifest(secrets(key, clock))
    else:
        text = _token(key, clock, player, Role.PLAYER, 1)
    sys.stdout.write(text + "\n")


def _token(key: OKPKey, clock: Clock, subject: str, role: Role, days: int, callee: str = "") -> str:
    return mint(
        key,
        subject=subject,
        roles=[role],
        now_ms=clock.now_ms(),
        ttl_ms=days * _DAY_MS,
        name=subject if role is Role.PLAYER else "",
        issuer=ISSUER,
        audience=audience_for(callee),
    )


if __name__ == "__main__":
    main()
