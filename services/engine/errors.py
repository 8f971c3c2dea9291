"""Why the engine, not the rules, refuses."""

from collections.abc import Mapping

import grpc

from okey.errors import Exhausted, Forbidden, NotFound, Refused, Unavailable
from okey_runtime.codec import UndecodableMessage
from okey_runtime.database import DatabaseAway
from okey_runtime.errors import RpcFailure
from okey_runtime.idempotency import ReusedKey


class NoSuchTable(NotFound):
    """There is no table of this id."""

    reason = "TABLE_NOT_FOUND"


class NoSuchRound(NotFound):
    """The table has no round of this number."""

    reason = "ROUND_NOT_FOUND"


class RoundNotEnded(Refused):
    """A round is shown in full only when it is over, to nobody earlier (T9)."""

    reason = "ROUND_NOT_ENDED"


class NoRound(Refused):
    """The caller holds no tiles now."""

    reason = "NO_ROUND"


class RequestIdReused(ReusedKey, Refused):
    """The request id stands for another request already."""

    reason = "REQUEST_ID_REUSED"


class SeatedElsewhere(Refused):
    """The player sits at another table (W3)."""

    reason = "ALREADY_SEATED"

    def __init__(self, player: str, table_id: str) -> None:
        super().__init__(
            f"{player} sits at table {table_id} already: LeaveSeat there first, or Forfeit while "
            "its match runs (W3)"
        )
        self.table_id = table_id

    @property
    def metadata(self) -> Mapping[str, str]:
        """Where the player sits."""
        return {"table_id": self.table_id}


class Maintenance(Unavailable):
    """No new tables and matches for now; running ones go on."""

    reason = "MAINTENANCE"


class TableReloading(Unavailable):
    """The engine loads the table from its journal; send the same request again."""

    reason = "TABLE_RELOADING"


class TableQuarantined(Unavailable):
    """The table's journal cannot be replayed; operators are told."""

    reason = "TABLE_QUARANTINED"


class StandsStill(DatabaseAway):
    """Nothing can be decided now, and no clock runs; nothing was tried."""

    @property
    def retry_after_ms(self) -> int:
        """When another try makes sense."""
        return 1_000


class NotOwner(Unavailable):
    """Another engine has the table; where nobody has it just now the address is empty: send the
    same request again, there or to any engine.
    """

    reason = "NOT_OWNER"

    def __init__(self, table_id: str, engine: str, address: str) -> None:
        super().__init__(
            f"engine {engine} has table {table_id}: send the same request to {address}"
            if address
            else f"no engine has table {table_id} just now: send the same request again"
        )
        self.table_id = table_id
        self.engine = engine
        self.address = address

    @property
    def metadata(self) -> Mapping[str, str]:
        """Where to ask instead."""
        return {"engine": self.engine, "address": self.address}


class OwnerAway(Unavailable):
    """The engine that has the table does not answer; if it is dead another one has its tables
    within seconds: send the same request again.
    """

    reason = "OWNER_AWAY"


class EventNotReadable(Unavailable):
    """What the command would write is not known to every engine yet, while a new version is rolled
    out; send the same request again later.
    """

    reason = "EVENT_NOT_READABLE"


class RowNotReadable(Unavailable):
    """A newer engine wrote a row in a form that this engine does not know; send the same request
    again, which an engine of that version answers.
    """

    reason = "ROW_NOT_READABLE"

    def __init__(self, error: UndecodableMessage, table_id: str, seq: int | None = None) -> None:
        row = f"a row of table {table_id}" if seq is None else f"row {seq} of table {table_id}"
        super().__init__(
            f"{row} was written by a newer engine, and this one cannot read it ({error}): send the "
            "same request again, until an engine of the newer version answers"
        )


class WalletAway(Unavailable):
    """The wallet gives no definite answer; send the same request again."""

    reason = "WALLET_AWAY"


class EngineStopping(Unavailable):
    """This engine stops; send the same request again, elsewhere or a little later."""

    reason = "ENGINE_STOPPING"


class TableBusy(Exhausted):
    """Too many commands wait at this table."""

    reason = "TABLE_BUSY"


class ArrangedTooOften(Exhausted):
    """ArrangeRack is for a person's button, not for a loop."""

    reason = "ARRANGE_TOO_OFTEN"


class NotThisPlayer(Forbidden):
    """A player acts for itself only; naming another one is the lobby's right."""

    reason = "PLAYER_NOT_CALLER"


class NoSuchEngine(NotFound):
    """No engine of this name is a member."""

    reason = "ENGINE_NOT_FOUND"


def stake_declined(reason: str) -> RpcFailure:
    """What the caller of TakeSeat or PlayOn gets when the wallet declined: the wallet's reason."""
    return RpcFailure(
        grpc.StatusCode.FAILED_PRECONDITION,
        reason,
        f"the wallet declined the stake ({reason}); the seat is free again",
        {},
    )


def command_timed_out(within_ms: int) -> RpcFailure:
    """What is answered where a command was not committed in time: nobody knows what becomes of
    it.
    """
    return RpcFailure(
        grpc.StatusCode.DEADLINE_EXCEEDED,
        "COMMAND_TIMED_OUT",
        f"not committed within {within_ms} ms; send the same again, with the same request_id, to "
        "learn whether it counts",
        {},
    )


def refuse_in_maintenance(is_maintenance: bool) -> None:
    """Raise ``Maintenance`` where it is on: for what would begin a new match."""
    if is_maintenance:
        raise Maintenance("maintenance: no new tables and matches for now; try again later")
