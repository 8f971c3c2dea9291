"""Decide a command: the events it causes, or a named error and nothing."""

from typing import assert_never

from okey.table import commands as c
from okey.table.draft import Draft
from okey.table.errors import TableExists, TableIsClosed, TableNotFound
from okey.table.events import Event
from okey.table.forfeiting import claim, forfeit, return_to_seat
from okey.table.moves import bot_move, neutral_move, player_move
from okey.table.nachspiel import confirm_settlement, play_on
from okey.table.seating import (
    add_nonce,
    confirm_hold,
    decline_hold,
    leave_seat,
    open_table,
    take_seat,
)
from okey.table.starting import confirm_start, decline_start
from okey.table.state import TableState
from okey.table.takeover import take_over
from okey.table.timeouts import expire
from okey.table.voiding import void_match, void_table

WALLET_ANSWERS = (
    c.ConfirmHold,
    c.DeclineHold,
    c.ConfirmStart,
    c.DeclineStart,
    c.ConfirmSettlement,
)


def decide(state: TableState | None, command: c.Command, context: c.Context) -> tuple[Event, ...]:
    """The events of the command, oldest first; none where a wallet's answer is no longer waited
    for.

    Raises a named error of ``okey.table.errors`` (or of ``okey.rules``) for a command that is
    refused.
    """
    return step(state, command, context)[0]


def step(
    state: TableState | None, command: c.Command, context: c.Context
) -> tuple[tuple[Event, ...], TableState]:
    """Like :func:`decide`, with the state that the events lead to."""
    if isinstance(command, c.OpenTable):
        if state is not None:
            raise TableExists(f"table {state.config.table_id} is open already; take a seat there")
        draft = open_table(command, context)
    elif state is None:
        raise TableNotFound(f"{type(command).__name__} for a table that was never opened")
    elif state.is_done:
        if not isinstance(command, WALLET_ANSWERS):
            raise TableIsClosed(f"table {state.config.table_id} is closed; open another one")
        return (), state
    else:
        draft = Draft(state, context)
        _apply(draft, command)
    return tuple(draft.events), draft.state


def _apply(draft: Draft, command: c.TableCommand | c.PlatformCommand) -> None:
    match command:
        case c.PlayerMove(player, turn, action):
            player_move(draft, player, turn, action)
        case c.BotMove(seat, turn, action):
            bot_move(draft, seat, turn, action)
        case c.NeutralMove(seat, turn):
            neutral_move(draft, seat, turn)
        case c.TakeSeat(player, seat):
            take_seat(draft, player, seat)
        case c.LeaveSeat(player):
            leave_seat(draft, player)
        case c.PlayOn(player):
            play_on(draft, player)
        case c.AddNonce(player, nonce):
            add_nonce(draft, player, nonce)
        case c.Forfeit(player):
            forfeit(draft, player)
        case c.ClaimMatch(player):
            claim(draft, player)
        case c.ReturnToSeat(player):
            return_to_seat(draft, player)
        case _:
            _apply_from_platform(draft, command)


def _apply_from_platform(draft: Draft, command: c.PlatformCommand) -> None:
    """Commands of the wallet, the clocks, operators and engines."""
    match command:
        case c.ConfirmHold(hold_id):
            confirm_hold(draft, hold_id)
        case c.DeclineHold(hold_id, reason):
            decline_hold(draft, hold_id, reason)
        case c.ConfirmStart(match_id):
            confirm_start(draft, match_id)
        case c.DeclineStart(match_id, void_hold_ids):
            decline_start(draft, match_id, void_hold_ids)
        case c.ConfirmSettlement(match_id):
            confirm_settlement(draft, match_id)
        case c.Expire(timer):
            expire(draft, timer)
        case c.VoidMatch(operator, reason):
            void_match(draft, operator, reason)
        case c.VoidTable(operator, reason):
            void_table(draft, operator, reason)
        case c.TakeOver(engine, last_renewal_ms):
            take_over(draft, engine, last_renewal_ms)
        case _:
            assert_never(command)
