"""What was acknowledged is stored, once and as it was told; what was refused is not."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from okey.table import events as e
from okey.table.reasons import VacateReason
from services.engine.record import Row
from tests.chaos.leaving import Leaving
from tests.chaos.tables.history import Asked, ClientHistory, Ended, Finding

DURABLE = "own moves durable"
ONCE = "stored exactly once"
HONEST = "refused is not stored"
NOBODY = "nothing unasked"
EXPECTED = "no unexpected error"

_ASK_A_STAKE = frozenset({"OpenTable", "TakeSeat", "PlayOn"})
"""Their refusal may be about the stake, which the wallet declined or the seat's owner gave up
after the row was stored.
"""
_LEFT = frozenset({VacateReason.LEFT, VacateReason.LEFT_LATE})
_UNEXPECTED = "INTERNAL"
"""The reason of an error that the engine itself did not expect."""


def check_acknowledged(
    clients: Iterable[ClientHistory], rows: Mapping[str, Sequence[Row]]
) -> Iterator[Finding]:
    """Every command of every client against the rows of its table."""
    stored: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    leaving = Leaving()
    for table_id, table in rows.items():
        for row in table:
            if row.request is not None:
                stored[table_id, row.request.player, row.request.request_id].append(row)
                leaving.see(table_id, row.seq, row.request.player, row.events)
    asked_for = set()
    players: dict[str, bool] = {}
    for client in clients:
        players[client.player] = client.is_matched
        if any(isinstance(heard, Ended) and heard.reason == _UNEXPECTED for heard in client.heard):
            yield Finding(EXPECTED, client.table_id, client.player, "a stream ended with one")
        for asked in client.asked:
            key = (client.table_id, client.player, asked.request_id)
            asked_for.add(key)
            found = stored.get(key, [])
            is_leaving = asked.kind == "LeaveSeat" and bool(asked.seqs) and not found
            if is_leaving and leaving.is_told_again(*key[:2], min(asked.seqs)):
                continue
            for check, text in _wrong(asked, found):
                about = f"{asked.kind} {asked.request_id}"
                yield Finding(check, client.table_id, client.player, f"{about} {text}")
    for key in sorted(stored.keys() - asked_for):
        table_id, player, request_id = key
        if player in players and not (players[player] and any(map(_is_lobbys, stored[key]))):
            yield Finding(NOBODY, table_id, player, f"nobody sent request {request_id}")


def _is_lobbys(row: Row) -> bool:
    """Whether a lobby may ask for it, for a player that it has matched: a seat, and that this is
    given back where somebody else of the group has not come.
    """
    return any(
        isinstance(event, e.TableOpened | e.SeatRequested)
        or (isinstance(event, e.SeatVacated) and event.reason in _LEFT)
        for event in row.events
    )


def _wrong(asked: Asked, rows: list[Row]) -> Iterator[tuple[str, str]]:
    at = [row.seq for row in rows]
    if len(rows) > 1:
        yield ONCE, f"is stored in rows {at}"
    if asked.refusal and asked.kind not in _ASK_A_STAKE and not asked.seqs and rows:
        yield HONEST, f"was refused ({asked.refusal}) and stands in row {at[0]}"
    for seq in asked.seqs:
        if not rows:
            yield DURABLE, f"was acknowledged as row {seq} and is not stored"
        elif seq not in (0, at[0]):
            yield DURABLE, f"was acknowledged as row {seq} and is stored as row {at[0]}"
    if _UNEXPECTED in (*asked.errors, asked.refusal):
        yield EXPECTED, "met an unexpected error"
    if asked.drawn and rows:
        drawn = [int(event.tile or 0) for event in rows[0].events if isinstance(event, e.TileDrawn)]
        if drawn != [asked.drawn]:
            yield DURABLE, f"was told to have drawn tile {asked.drawn}, the row says {drawn}"
