"""Two tables that differ only in what a viewer may not see send that viewer the same bytes.

The twin of a played table has the tiles that never came to light permuted, and another seed under
the same published commitment; then the same commands are played there.
"""

import random
from dataclasses import dataclass, field, replace

import pytest

from okey.api.engine.v1 import engine_pb2
from okey.rules.tile import Tile
from okey.rules.variant import Mode
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.events import Event
from okey.table.public import REVEALED
from okey.table.state import TableState
from okey.table.view import SPECTATOR
from services.engine.record import Row
from services.engine.updates import Allowed, RowUpdates
from services.engine.wire import update_message, view_message
from tests.factories import PLAYERS, STOCK, Driver, canak, esli, klasik, paid, seed, solo, starting

KINDS = {"canak-2": canak(2), "canak-4": canak(4), "klasik-4": klasik(4), "esli": esli()}
KINDS |= {"solo-2": solo(2), "klasik-2": klasik(2)}
NAMES = {player: player.title() for player in PLAYERS}
OTHER_SEED = bytes(range(32))

Origin = tuple[int, int]
"""Where a tile lay at the deal: (seat, place in its rack), or (-1, place in the stock)."""


@dataclass
class Played:
    """A table after its deal, and what was done there: each command with its time."""

    dealt: TableState
    commands: list[tuple[c.Command, int]] = field(default_factory=list)


def play(config: TableConfig, viewer: int, number: int) -> tuple[Played, list[Origin]]:
    """Play some turns; and which tiles the viewer never gets to see."""
    chance = random.Random(number)
    table = paid(config)
    table.state = replace(table.state, sealed=c.seal(seed(100 + number)))
    table.start()
    played = Played(table.state)
    light = _Light(table, viewer)
    for _ in range(chance.randrange(8, 60)):
        command = _next_command(table, chance)
        if isinstance(command, c.Expire):
            table.now_ms = max(table.now_ms, command.timer.deadline_ms)
        played.commands.append((command, table.now_ms))
        for event in table.do(command):
            light.shine(event)
        if table.state.round is None:
            played.commands.pop()
            break
        table.wait(100)
    return played, light.dark(table)


def _next_command(table: Driver, chance: random.Random) -> c.Command:
    turn, dice = table.turn, chance.random()
    if dice < 0.06:
        return c.Expire(table.timer(c.TimerKind.TURN, turn.seat))
    away = [seat.player for seat in table.state.seats if seat.away_deadline_ms > table.now_ms]
    if dice < 0.09 and away:
        return c.ReturnToSeat(away[0])
    if table.seat(turn.seat).is_ai_played:
        return c.NeutralMove(turn.seat, turn.number)
    if turn.drawn is None:
        has_pile = bool(table.hand(table.round.previous_seat(turn.seat)).pile)
        return table.move(c.Draw(c.DrawSource.DISCARD if has_pile and dice < 0.4 else STOCK))
    hand = table.hand(turn.seat)
    if dice < 0.2 and hand.own_turns <= 3 and not hand.announced_at:
        return table.move(c.AnnounceCift())
    return table.move(c.Discard(chance.choice(hand.rack)))


class _Light:
    """Follows where every tile came from, so as to know which ones nobody showed the viewer."""

    def __init__(self, table: Driver, viewer: int) -> None:
        self.viewer = viewer
        self.stock_from = 0
        self.drawn: tuple[Tile, Origin | None] | None = None
        self.held: list[list[tuple[Tile, Origin | None]]] = [
            [(tile, (seat, place)) for place, tile in enumerate(hand.rack)]
            for seat, hand in enumerate(table.round.hands)
        ]
        starter = self.held[table.round.starter]
        # A neutral move may discard exactly the fifteenth tile (U6): its place is of consequence.
        starter[-1] = (starter[-1][0], None)

    def shine(self, event: Event) -> None:
        match event:
            case e.TileDrawn(seat, source, Tile() as tile):
                origin = (-1, self.stock_from) if source is STOCK else None
                self.stock_from += source is STOCK
                self.drawn = (tile, origin)
                self.held[seat].append(self.drawn)
            case e.TileDiscarded(seat, tile):
                same = [each for each in self.held[seat] if each[0] == tile]
                self.held[seat].remove(self.drawn if self.drawn in same else same[0])
                self.drawn = None
            case _:
                pass

    def dark(self, table: Driver) -> list[Origin]:
        """The places of tiles that never came to light, without the second gösterge (K3)."""
        gosterge = table.round.gosterge
        hidden = [
            origin
            for seat, held in enumerate(self.held)
            if seat != self.viewer
            for tile, origin in held
            if origin is not None and tile != gosterge
        ]
        rest = enumerate(table.round.stock, start=self.stock_from)
        return hidden + [(-1, place) for place, tile in rest if tile != gosterge]


def twin_of(state: TableState, dark: list[Origin], number: int) -> TableState:
    """The same table with its dark tiles permuted, under another seed with the same commitment."""
    running = state.round
    assert running is not None
    racks = [list(hand.rack) for hand in running.hands]
    stock = list(running.stock)
    places = [stock if seat < 0 else racks[seat] for seat, _ in dark]
    tiles = [rows[place] for rows, (_, place) in zip(places, dark, strict=True)]
    random.Random(number).shuffle(tiles)
    for rows, (_, place), tile in zip(places, dark, tiles, strict=True):
        rows[place] = tile
    hands = tuple(
        replace(hand, rack=tuple(rack)) for hand, rack in zip(running.hands, racks, strict=True)
    )
    return replace(state, round=replace(running, hands=hands, stock=tuple(stock), seed=OTHER_SEED))


def stream(played: Played, state: TableState, viewer: int) -> list[bytes]:
    """Every byte of the viewer's stream: the snapshot, then an update for each command."""
    player = state.seats[viewer].player if viewer >= 0 else ""
    sent, allowed = [_bytes(state, viewer, 0, 0)], Allowed()
    for seq, (command, now_ms) in enumerate(played.commands, start=1):
        context = c.Context(now_ms, lambda: c.SealedSeed(bytes(32), b"published"))
        before, (events, state) = state, step(state, command, context)
        allowed.follow(before, state)
        updates = RowUpdates(state, Row(seq, now_ms, events), now_ms, NAMES, allowed)
        was, now = before.seat_of(player), state.seat_of(player)
        sent.append(updates.wire(player, was, now, with_view=True))
    return sent


def _bytes(state: TableState, viewer: int, seq: int, now_ms: int) -> bytes:
    message = view_message(state, viewer, seq, now_ms, NAMES)
    return message.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    ("config", "viewer"),
    [
        pytest.param(config, viewer, id=f"{name}-{viewer}")
        for name, config in KINDS.items()
        for viewer in (SPECTATOR, *range(config.seat_count))
        if viewer < 1 or config.mode is not Mode.SOLO
    ],
)
def test_a_viewer_gets_the_same_bytes_whatever_is_hidden(config: TableConfig, viewer: int) -> None:
    """T9, H8, U1: nothing public before the end depends on a tile that the viewer may not see."""
    differing = 0
    for number in range(9):
        played, dark = play(config, viewer, number)
        twin = twin_of(played.dealt, dark, number)
        assert stream(played, played.dealt, viewer) == stream(played, twin, viewer)
        differing += twin.round != played.dealt.round and len(dark) > 20
    assert differing == 9, "the twins were no twins"


def test_the_check_sees_what_leaks() -> None:
    """T9: the same comparison fails for the wrong seat, and for one who is shown everything."""
    played, dark = play(canak(4), SPECTATOR, 1)
    twin = twin_of(played.dealt, dark, 1)
    for seat in (0, 1):
        assert stream(played, played.dealt, seat) != stream(played, twin, seat)
    deals = [_deal_shown(state, REVEALED) for state in (played.dealt, twin)]
    assert deals[0] != deals[1]
    shown = [_deal_shown(state, SPECTATOR) for state in (played.dealt, twin)]
    assert shown[0] == shown[1]


def _deal_shown(state: TableState, viewer: int) -> bytes:
    running = state.round
    assert running is not None
    dealt = e.RoundDealt(
        round_no=running.round_no,
        playing=running.playing,
        dealer=running.dealer,
        starter=running.starter,
        gosterge=running.gosterge,
        racks=tuple(hand.rack for hand in running.hands),
        stock=running.stock,
        nonces=running.nonces,
    )
    update: engine_pb2.TableUpdate = update_message(Row(1, 0, (dealt,)), [viewer], 0, NAMES)
    return update.SerializeToString(deterministic=True)


def test_a_waiting_nonce_is_shown_to_no_one_before_the_deal() -> None:
    """T9: which nonce a seat added is the same bytes for everybody else, and for itself."""
    for viewer in (SPECTATOR, 0, 1):
        sent = []
        for nonce in (bytes(32), bytes([1]) * 32):
            table = starting(canak(2))
            (added,) = table.do(c.AddNonce(PLAYERS[0], nonce))
            update = update_message(Row(1, 0, (added,)), [viewer], 0, NAMES)
            sent.append((update.SerializeToString(), _bytes(table.state, viewer, 1, 0)))
        assert sent[0] == sent[1]
