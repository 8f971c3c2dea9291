"""Nothing hidden in any frame, no token in any log line (T9)."""

import asyncio
import base64
import sqlite3
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import orjson

from okey.table.state import TableState
from services.engine.record import Row, decode_events
from tests.chaos.tables.replay import replay
from tests.fixtures.logs import log_file
from tests.fixtures.valkey import Valkey
from tests.integration.gateway.playing import play_match, seq_of
from tests.integration.gateway.stand import Browser, Frame, Stand, browser, http, rpc, stand
from tests.security.leaking import Secrets

__all__ = ["log_file"]

SPECTATOR = "zoe"


def states_of(folder: Path, table_id: str) -> list[TableState]:
    """The table after each of its rows, from the engine's own journal."""
    with sqlite3.connect(folder / "engine.db") as database:
        asked = "SELECT seq, payload FROM journal WHERE table_id = ? ORDER BY seq"
        found = database.execute(asked, (table_id,)).fetchall()
    database.close()
    rows = [Row(seq, 0, decode_events(payload)) for seq, payload in found]
    return [step.after for step in replay(rows)]


def hidden_from(state: TableState, player: str) -> Secrets:
    """What a frame of this row must not show to that player."""
    secrets = Secrets()
    if state.sealed is not None:
        secrets.add_bytes("the coming round's seed", state.sealed.seed)
    for seat in state.seats:
        if seat.nonce:
            secrets.add_bytes("a nonce before the deal", seat.nonce)
    if state.round is not None:
        secrets.add_bytes("the running round's seed", state.round.seed)
        secrets.add_tiles(state.round.stock)
        for number, hand in enumerate(state.round.hands):
            if number != state.seat_of(player):
                secrets.add_tiles(hand.rack)
    return secrets


def as_text(frame: Frame) -> str:
    """A frame as the search reads tiles: their names in a row."""
    return orjson.dumps(frame).decode().replace('"', " ")


def shown(frames: list[Frame], states: list[TableState], player: str) -> list[str]:
    """What the frames show of what is hidden from their reader."""
    found = []
    for frame in frames:
        seq = seq_of(frame)
        if 0 < seq <= len(states):
            secrets = hidden_from(states[seq - 1], player)
            found += [f"row {seq}: {each}" for each in secrets.in_text(as_text(frame))]
    return found


async def watch(spectator: Browser, frames: list[Frame]) -> None:
    while True:
        frames.append(await spectator.hear())


async def play_over(world: Stand, tokens: dict[str, str]) -> tuple[str, dict[str, list[Frame]]]:
    """Two people play a match over the gateway, with nonces of their own, and one looks on; every
    frame that each of them got.
    """
    assert world.gateway is not None
    gateway, (ada, bob) = world.gateway, ("ada", "bob")
    made = await rpc(
        gateway,
        tokens[ada],
        "LobbyService/CreateTable",
        request_id="a-table-of-two",
        terms={"seat_count": 2, "stake": 100},
    )
    table_id: str = made["table_id"]
    heard: dict[str, list[Frame]] = {SPECTATOR: []}

    def opened(player: str) -> AbstractAsyncContextManager[Browser]:
        return browser(gateway, tokens[player], table_id=table_id, with_view=True)

    async with opened(ada) as first, opened(bob) as second, opened(SPECTATOR) as third:
        nonce = base64.b64encode(bytes(range(32))).decode()
        assert "error" not in await first.ask(add_nonce={"nonce": nonce})
        looking = asyncio.create_task(watch(third, heard[SPECTATOR]))
        await rpc(
            gateway,
            tokens[bob],
            "LobbyService/JoinTable",
            request_id="the-seat-of-bob",
            table_id=table_id,
        )
        heard[ada], heard[bob] = await asyncio.gather(play_match(first), play_match(second))
        looking.cancel()
    return table_id, heard


async def test_no_frame_shows_what_its_reader_may_not_see_and_no_log_a_token(
    log_file: Path, tmp_path: Path, valkey_server: Valkey
) -> None:
    valkey_server.empty()
    async with stand(tmp_path, valkey_server.url) as world:
        assert world.gateway is not None
        async with http(world.gateway) as client:
            guest = (await client.post("session/guest", json={"name": "Gül"})).json()
            bad = {"authorization": f"Bearer {world.issuer.token('eve')[:-9]}"}
            await client.post("rpc/TableService/WhereAmI", json={}, headers=bad)
        tokens = {name: world.issuer.token(name) for name in ("ada", "bob", SPECTATOR)}
        table_id, heard = await play_over(world, tokens)
    states = states_of(tmp_path, table_id)
    for player, frames in heard.items():
        assert len(frames) > 10, player
        assert shown(frames, states, player) == []
    # The search finds what it is for: the same frames, read by somebody else.
    assert shown(heard["ada"], states, "bob") != []
    secrets = Secrets()
    for token in (*tokens.values(), guest["token"], bad["authorization"][7:]):
        secrets.add_text("a token", token)
        secrets.add_text("a token's signature", token.rpartition(".")[2][:-9])
    log = await asyncio.to_thread(log_file.read_text)
    assert log.count("\n") > 5
    assert list(secrets.in_log(log)) == []
