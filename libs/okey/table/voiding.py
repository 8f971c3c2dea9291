"""An operator voids the running match, or the whole table, or the key to a running round was lost:
every stake goes back, nobody is rated (M10).
"""

from okey.rules.variant import Variant
from okey.table import events as e
from okey.table.draft import Draft
from okey.table.ending import end_round
from okey.table.errors import NoMatchRunning
from okey.table.forfeiting import MATCH_PHASES
from okey.table.nachspiel import start_nachspiel
from okey.table.reasons import CloseReason, RoundResult, VacateReason, VoidReason
from okey.table.seating import vacate
from okey.table.state import Phase


def void_match(draft: Draft, operator: str, note: str) -> None:
    """Raises ``NoMatchRunning``, also while the start or the result is with the wallet."""
    state = draft.state
    if state.phase not in MATCH_PHASES:
        raise NoMatchRunning(
            f"the table is {state.phase.name}; a match is voided while it is played, "
            "and not while its start or result is with the wallet (M10)"
        )
    _void(draft, operator, note)
    _go_on(draft)


def void_lost(draft: Draft) -> None:
    """Void the match of a round whose tiles cannot be known any more; its seed is published never.

    The round has no end of its own, since an end shows racks and seed.
    """
    state, match = draft.state, draft.match
    draft.emit(
        e.MatchVoided(
            match_id=state.match_id,
            reason=VoidReason.KEY_LOST,
            operator="",
            note="",
            revealed=b"",
            sealed=draft.context.fresh(),
            kasa=state.kasa - match.money.kasa_share,
        )
    )
    _go_on(draft)


def _go_on(draft: Draft) -> None:
    """What follows a voided match."""
    if draft.state.config.variant is Variant.KLASIK:
        draft.emit(e.TableClosed(CloseReason.VOIDED))
    else:
        start_nachspiel(draft)


def void_table(draft: Draft, operator: str, note: str) -> None:
    """End the table whatever it is doing: a match that is played or about to start is voided, a
    result that is with the wallet stands, stakes held for the next match go back, and what is left
    in the kasa is shared out (Ç10).
    """
    if draft.state.phase in (*MATCH_PHASES, Phase.STARTING):
        _void(draft, operator, note)
    for index, seat in enumerate(draft.state.seats):
        if seat.hold_id:
            vacate(draft, index, VacateReason.VOIDED)
    draft.emit(e.TableClosed(CloseReason.VOIDED, operator, note))


def _void(draft: Draft, operator: str, note: str) -> None:
    """The running match, or the one whose start is with the wallet, did not count."""
    state = draft.state
    if state.round is not None:
        end_round(draft, RoundResult.VOIDED)
    sealed = draft.state.sealed
    assert sealed is not None, "a seed is sealed whenever no round is played"
    is_round_revealed = state.round is not None
    share = state.match.money.kasa_share if state.match is not None else 0
    draft.emit(
        e.MatchVoided(
            match_id=state.match_id,
            reason=VoidReason.OPERATOR,
            operator=operator,
            note=note,
            revealed=b"" if is_round_revealed else sealed.seed,
            sealed=sealed if is_round_revealed else draft.context.fresh(),
            kasa=state.kasa - share,
        )
    )
