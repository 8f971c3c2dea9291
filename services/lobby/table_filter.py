"""Which tables of the list a player wants to see."""

from okey.api.lobby.v1 import lobby_pb2


def passes(table: lobby_pb2.ListedTable, request: lobby_pb2.ListTablesRequest) -> bool:
    """Whether the table passes every filter that is set."""
    terms = table.terms
    return (
        request.variant in (0, terms.variant)
        and request.mode in (0, terms.mode)
        and request.seat_count in (0, terms.seat_count)
        and request.start_points in (0, terms.start_points)
        and _lies_in(terms.stake, request.min_stake, request.max_stake)
        and _lies_in(
            terms.turn_timeout_ms, request.min_turn_timeout_ms, request.max_turn_timeout_ms
        )
        and (table.is_joinable or not request.only_joinable)
        and (table.kasa > 0 or not request.only_with_kasa)
        and (table.house_fill_after_ms == 0 or not request.without_house_fill)
    )


def _lies_in(value: int, least: int, most: int) -> bool:
    return least <= value and (most == 0 or value <= most)
