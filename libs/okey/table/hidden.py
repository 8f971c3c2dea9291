"""What of an event nobody may know while its round runs: it is encrypted wherever events are kept.

That is the seed, the nonces, the deal, and what is drawn from the stock. All else is public, or
follows from it. The published seed opens it all again, so a round that is over hides nothing.
"""

from dataclasses import replace
from typing import cast

from okey.table import events as e
from okey.table.commands import DrawSource, SealedSeed

SeedEvent = e.TableOpened | e.RoundEnded | e.MatchVoided | e.TableTakenOver
"""The events that seal the seed of the coming round."""


def fresh_seed(event: e.Event) -> SealedSeed | None:
    """The seed that the event seals for the coming round, if it seals one."""
    return event.sealed if isinstance(event, SeedEvent) else None


def hides(event: e.Event) -> bool:
    """Whether the event holds something hidden, its fresh seed apart."""
    match event:
        case e.TileDrawn(source=source):
            return source is DrawSource.STOCK
        case e.RoundDealt() | e.NonceAdded():
            return True
        case _:
            return False


def masked(event: e.Event) -> e.Event:
    """The event without what is hidden: of the same shape, so that it can be read and folded."""
    match event:
        case e.TileDrawn(source=source) if source is DrawSource.STOCK:
            return replace(event, tile=None)
        case e.NonceAdded():
            return replace(event, nonce=b"")
        case e.RoundDealt():
            seats = len(event.racks)
            return replace(event, racks=((),) * seats, stock=(), nonces=(b"",) * seats)
        case _:
            sealed = fresh_seed(event)
            if sealed is None:
                return event
            return replace(
                cast(SeedEvent, event), sealed=SealedSeed(seed=b"", commitment=sealed.commitment)
            )
