"""``okeyctl token``: making one for a platform of this machine, and revoking those of others."""

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from google.protobuf.json_format import MessageToDict

from okey.api.engine.v1 import revocations_pb2, revocations_pb2_grpc
from okey_runtime.audiences import PUBLIC_ROLES
from okey_runtime.auth import Role
from okey_runtime.config import PLAYER_TOKEN_MAX_LIFE_MS
from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.connecting import calls
from services.okeyctl.ending import refusals, refuse
from services.okeyctl.moments import TIME, named
from services.okeyctl.options import AsJson, DataDir, Reason, checked_player
from services.okeyctl.reach import CALLEES, Reach, dev_token, signing_key

_STUB: Final = revocations_pb2_grpc.RevocationServiceStub
_MOST_PLAYER_S: Final = PLAYER_TOKEN_MAX_LIFE_MS // 1000

Answer = revocations_pb2.RevokeTokensResponse | revocations_pb2.RevokeTokenResponse

app = typer.Typer(
    help=(
        "Make a token, or revoke tokens.\n\nWithout a command it makes one, for platforms of this "
        "machine. The key of the one that runs signs it, else this user's, which production "
        "refuses; standard error tells which file that was.\n\nA player's and an integrator's is "
        "good on every service; an operator's and a service's on one, which --for names."
    ),
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def token(
    ctx: typer.Context,
    player: Annotated[
        str | None, typer.Option(help="Who it speaks for: the token's subject.")
    ] = None,
    name: Annotated[str, typer.Option(help="The name that others see at the table.")] = "",
    role: Annotated[list[Role] | None, typer.Option(help="May be repeated; else player.")] = None,
    callee: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="SERVICE", help="Whom an operator or a service calls with it."
        ),
    ] = None,
    ttl: Annotated[
        int, typer.Option(min=1, help="Seconds until it ends; a player's at most a day.")
    ] = 12 * 3600,
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Make a token, unless a command is named."""
    if ctx.invoked_subcommand is not None:
        return
    if player is None:
        refuse("name the token's subject: okeyctl token --player ayse")
    roles = role or [Role.PLAYER]
    if Role.PLAYER in roles and ttl > _MOST_PLAYER_S:
        refuse(f"a player's token may live for {_MOST_PLAYER_S} s at most, not {ttl}")
    for_whom = _callee(roles, callee)
    with refusals():
        signing = signing_key(data_dir)
        try:
            made = dev_token(signing.key, player, roles, name, ttl * 1000, for_whom)
        except ValueError as error:
            refuse(str(error))
    # Told of a token that was handed out only: a full disk is refused here, in one line.
    print(made, flush=True)
    typer.echo(f"okeyctl: {signing.origin}", err=True)


def _callee(roles: Collection[Role], callee: str | None) -> str:
    """Whom the token is for, "" for all. Ends the command where no service would take it."""
    private = sorted(set(roles) - PUBLIC_ROLES)
    public = sorted(set(roles) & PUBLIC_ROLES)
    if private and public:
        refuse(
            f"{private[0]} and {public[0]} need two tokens: {public[0]}'s is for every service, "
            f"{private[0]}'s for the one that --for names"
        )
    if private and callee not in CALLEES:
        given = "was not given" if callee is None else f"names {callee!r}, which is none"
        refuse(
            f"a token with the role {private[0]} is good on one service, and --for {given}: "
            f"name one of {', '.join(CALLEES)}"
        )
    if public and callee is not None:
        refuse(f"a token with the role {public[0]} is good on every service: leave --for out")
    return callee or ""


@app.command()
@calls("engine")
def revoke(
    way: Reach,
    reason: Reason,
    player: Annotated[str | None, typer.Option(help="End all tokens of this player.")] = None,
    token_id: Annotated[
        str | None, typer.Option("--id", help="End one token, by its id (jti).")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            metavar=TIME,
            help="With --player: only those issued before this time, as 2026-12-01T10:00:00Z, or "
            "before this day (UTC), as 2026-12-01. Else now.",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar=TIME,
            help="With --id: when it expires; a bare date is the day's end (UTC). Else the longest "
            "life of a player's token from now.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """End tokens before they expire, at every service within seconds.

    Name a player, whose tokens end that were issued until now, or one token. Streams and
    connections end too. Given again it changes nothing.
    """
    if (player is None) == (token_id is None):
        refuse("name either a player (--player) or a token (--id)")
    if (before is not None and player is None) or (expires is not None and token_id is None):
        refuse("--before goes with --player, and --expires with --id")
    answer: Answer
    if player is not None:
        answer = _revoke_player(way, checked_player(player), reason, before)
    else:
        assert token_id is not None, "one of both was named"
        answer = _revoke_token(way, token_id, reason, expires)
    if as_json:
        fields = MessageToDict(
            answer, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        print(json.dumps(fields))
        return
    print(_told(player or token_id or "", answer))


def _revoke_player(way: Reach, player: str, reason: str, before: str | None) -> Answer:
    request = revocations_pb2.RevokeTokensRequest(
        player_id=player,
        reason=reason,
        issued_before_ms=None if before is None else named("--before", before).first_ms,
    )
    answer: Answer = ask(way, _STUB, lambda stub: stub.RevokeTokens(request, timeout=TIMEOUT_S))
    return answer


def _revoke_token(way: Reach, token_id: str, reason: str, expires: str | None) -> Answer:
    request = revocations_pb2.RevokeTokenRequest(
        token_id=token_id,
        reason=reason,
        expires_ms=None if expires is None else named("--expires", expires).end_ms,
    )
    answer: Answer = ask(way, _STUB, lambda stub: stub.RevokeToken(request, timeout=TIMEOUT_S))
    return answer


def _told(about: str, answer: Answer) -> str:
    until = datetime.fromtimestamp(answer.until_ms / 1000, UTC).isoformat(timespec="seconds")
    if answer.changed:
        return f"{about} is revoked; the entry is kept until {until}, when all of it has expired"
    if answer.until_ms / 1000 <= datetime.now(UTC).timestamp():
        return f"nothing to revoke for {about}: all of it had expired by {until}"
    return f"{about} was revoked before, until {until}"
