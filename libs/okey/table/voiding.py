"""An operator voids the running match: every stake goes back, older kasa stays, nobody is rated
(M10).
"""

from okey.rules.variant import Variant
from okey.table import events as e
from okey.table.draft import Draft
from okey.table.ending import end_round
from okey.table.errors import NoMatchRunning
from okey.table.forfeiting import MATCH_PHASES
from okey.table.nachspiel import start_nachspiel
from okey.table.reasons import CloseReason, RoundResult, VoidReason


def void_match(draft: Draft, operator: str, note: str) -> None:
    """Raises ``NoMatchRunning``, also while the start or the result is with the wallet."""
    state = draft.state
    if state.phase not in MATCH_PHASES:
        raise NoMatchRunning(
            f"the table is {state.phase.name}; a match is voided while it is played, "
            "and not while its start or result is with the wallet (M10)"
        )
    if state.round is not None:
        end_round(draft, RoundResult.VOIDED)
    match, sealed = draft.match, draft.state.sealed
    assert sealed is not None, "a seed is sealed whenever no round is played"
    is_round_revealed = state.round is not None
    draft.emit(
        e.MatchVoided(
            match_id=match.match_id,
            reason=VoidReason.OPERATOR,
            operator=operator,
            note=note,
            revealed=b"" if is_round_revealed else sealed.seed,
            sealed=sealed if is_round_revealed else draft.context.fresh,
            kasa=state.kasa - match.money.kasa_share,
        )
    )
    if state.config.variant is Variant.KLASIK:
        draft.emit(e.TableClosed(CloseReason.VOIDED))
    else:
        start_nachspiel(draft)
