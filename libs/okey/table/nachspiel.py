"""After the match: settlement, then the Nachspiel or the end of the table (Ç8..Ç10, K11)."""

from okey.rules.variant import Variant
from okey.table import events as e
from okey.table.checks import seat_owned_by
from okey.table.draft import Draft
from okey.table.errors import NotDeciding
from okey.table.reasons import CloseReason, VacateReason
from okey.table.seating import (
    close_if_empty,
    house_fill_deadline,
    idle_deadline,
    request_seat,
    vacate,
)
from okey.table.state import Phase, SeatStatus


def confirm_settlement(draft: Draft, match_id: str) -> None:
    """The wallet has paid out: Klasik and a won kasa close the table, else people decide."""
    state = draft.state
    if state.phase is not Phase.SETTLING or match_id != state.match_id:
        return
    draft.emit(e.SettlementConfirmed(match_id))
    if state.config.variant is Variant.KLASIK:
        draft.emit(e.TableClosed(CloseReason.MATCH_OVER))
    elif state.kasa == 0:
        draft.emit(e.TableClosed(CloseReason.KASA_WON))
    else:
        start_nachspiel(draft)


def start_nachspiel(draft: Draft) -> None:
    """Ç8: who is still here decides whether to pay again; without people the table closes (Ç10)."""
    close_if_empty(draft)
    if not draft.state.is_done:
        fill_ms = house_fill_deadline(draft.state.config.house_fill_after_ms, draft.now_ms)
        draft.emit(e.NachspielStarted(draft.now_ms + draft.rules.nachspiel_ms, fill_ms))


def play_on(draft: Draft, player: str) -> None:
    """Ç8: pay the stake again for the grown kasa. Raises why not."""
    seat = seat_owned_by(draft.state, player)
    status = draft.state.seats[seat].status
    if draft.state.phase is not Phase.NACHSPIEL or status is not SeatStatus.DECIDING:
        raise NotDeciding(
            f"the table is {draft.state.phase.name} and seat {seat} {status.name}; "
            "playing on is said once, in the Nachspiel (Ç9)"
        )
    late_ms = draft.now_ms - draft.state.phase_deadline_ms
    if late_ms >= 0:
        raise NotDeciding(
            f"the Nachspiel ended {late_ms} ms ago; silence was back to the lobby (Ç9)"
        )
    request_seat(draft, seat, player)


def end_nachspiel(draft: Draft) -> None:
    """Ç9: silence means back to the lobby; seats without a paying player stay open to newcomers."""
    for index, seat in enumerate(draft.state.seats):
        if seat.status is SeatStatus.DECIDING:
            vacate(draft, index, VacateReason.SILENT)
    close_if_empty(draft)
    if not draft.state.is_done:
        draft.emit(e.NachspielEnded(idle_deadline(draft)))
