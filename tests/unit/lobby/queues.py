"""Waiting tickets for the tests of plans."""

from services.lobby.waiting import Unit, Waiting

NOW_MS = 1_000_000


def waiting(
    player: str,
    order: int,
    rating: int = 1_200,
    *,
    waited_ms: int = 0,
    partner: str = "",
    fill_ms: int = 0,
) -> Waiting:
    """A ticket with its rating in points."""
    return Waiting(
        player,
        f"ticket-of-{player}",
        player.title(),
        order,
        rating * 1_000,
        NOW_MS - waited_ms,
        partner,
        fill_ms,
    )


def alone(
    player: str, order: int, rating: int = 1_200, *, waited_ms: int = 0, fill_ms: int = 0
) -> Unit:
    return Unit((waiting(player, order, rating, waited_ms=waited_ms, fill_ms=fill_ms),))


def party(first: str, second: str, order: int, ratings: tuple[int, int] = (1_200, 1_200)) -> Unit:
    return Unit(
        (
            waiting(first, order, ratings[0], partner=second),
            waiting(second, order + 1, ratings[1], partner=first),
        )
    )


def names(units: tuple[Unit, ...]) -> list[str]:
    return [ticket.player for unit in units for ticket in unit.tickets]
