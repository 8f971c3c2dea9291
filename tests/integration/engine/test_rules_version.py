"""Version 2026.12 of the rules at a whole platform: claims, and what old engines cannot read."""

from okey.api.engine.v1 import engine_pb2, table_pb2
from tests.integration.engine.platform import Phase, Platform, playing, refused, view_of
from tests.integration.engine.service import eventually, world

__all__ = ["world"]

CLAIM = table_pb2.LegalAction.LEGAL_ACTION_CLAIM_MATCH


async def test_the_last_person_claims_a_klasik_match_and_is_paid(world: Platform) -> None:
    """K9, K7: 200 chips less the rake, at once; before the other gave up it is refused."""
    klasik = {"variant": 2, "start_points": 20}
    table_id, mover, waiting = await playing(world, **klasik)
    claim = engine_pb2.ClaimMatchRequest(table_id=table_id, request_id=world.request_id())
    stub = await world.tables_as(waiting)
    assert (await refused(stub.ClaimMatch(claim))).reason == "CLAIM_NOT_OPEN"
    assert CLAIM not in (await view_of(world, table_id, waiting)).legal_actions
    forfeit = engine_pb2.ForfeitRequest(table_id=table_id, request_id=world.request_id())
    await (await world.tables_as(mover)).Forfeit(forfeit)
    assert CLAIM in (await view_of(world, table_id, waiting)).legal_actions
    again = engine_pb2.ClaimMatchRequest(table_id=table_id, request_id=world.request_id())
    first = await stub.ClaimMatch(again)
    assert await stub.ClaimMatch(again) == first
    await eventually(lambda: world.balance(f"player:{waiting}"), 10_000 - 100 + 180)
    assert await world.balance("house:bot_bank") == 0
    view = await view_of(world, table_id, waiting)
    assert view.phase in (Phase.PHASE_SETTLING, Phase.PHASE_CLOSED)


async def test_tables_get_the_newest_rules_once_every_engine_can_read_them(
    world: Platform,
) -> None:
    """Beside an engine of the release before, new tables keep the rules that it knows."""
    await world.start_beside("old", events_off="MatchClaimed")

    async def version() -> str:
        player = f"p{world.request_id()}"[:20]
        table_id = await world.open_table(player)
        return (await view_of(world, table_id, player)).config.rules.version

    await eventually(version, "2026.11")
    await world.stop_beside("old")
    await eventually(version, "2026.12")
