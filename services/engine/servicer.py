"""TableService: shape only; ``okey.table`` says what is right, the actor what counts."""

import base64
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any, Final, cast

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.bots.evaluate import Goal, arrange_towards
from okey.rules.arrange import Arrangement
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel, Mode, Variant
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey_runtime.access import AccessTable
from okey_runtime.clock import Clock
from okey_runtime.identity import Role, current_identity, display_name
from okey_runtime.interceptors import ends_itself, validates_itself, writes_itself
from okey_runtime.revocation import Revocations
from services.engine.attaching import Attaching
from services.engine.errors import (
    ArrangedTooOften,
    NoRound,
    NoSuchTable,
    NotOwner,
    NotThisPlayer,
    refuse_in_maintenance,
)
from services.engine.finished_round import FinishedRounds, RoundKey
from services.engine.following import From, elsewhere, follow, watching
from services.engine.forwarding import Forwarding, forwarded
from services.engine.invites import Invites, Knock
from services.engine.journal import Journal
from services.engine.play import PlayStreams
from services.engine.player_commands import PlayerCommands, asked_hold, request_of
from services.engine.routes import Routes
from services.engine.sessions import Sessions
from services.engine.settings import EngineSettings
from services.engine.shedding import Shedding
from services.engine.tables import Tables
from services.engine.wire import view_message

SERVICE: Final = "okey.api.engine.v1.TableService"

_PLAYER: Final = {Role.PLAYER}
_LOBBY: Final = {Role.LOBBY}
_WATCHERS: Final = {Role.PLAYER, Role.LOBBY, Role.OPERATOR, Role.INTEGRATOR}

ACCESS: Final = AccessTable.of(
    SERVICE,
    {
        "OpenTable": _LOBBY,
        "TakeSeat": _LOBBY,
        "LeaveSeat": _PLAYER | _LOBBY,
        "AddNonce": _PLAYER,
        "Act": _PLAYER,
        "Forfeit": _PLAYER,
        "ClaimMatch": _PLAYER,
        "ReturnToSeat": _PLAYER,
        "PlayOn": _PLAYER,
        "GetTable": _WATCHERS,
        "LocateTable": _WATCHERS,
        "WhereAmI": _PLAYER | _LOBBY,
        "GetDisplayNames": _WATCHERS,
        "ArrangeRack": _PLAYER,
        "Play": _PLAYER,
        "WatchTable": _WATCHERS,
        "ListEvents": _WATCHERS,
    },
    {"ListEvents": 20, "ArrangeRack": 5, "GetDisplayNames": 2},
)

_ARRANGE_EVERY_MS: Final = 200
_ARRANGERS_KEPT: Final = 10_000

Context = grpc.aio.ServicerContext[Any, Any]


class TableServicer(engine_pb2_grpc.TableServiceServicer):
    """The caller is the token's subject; roles and shapes were checked before it comes here."""

    stub: Final = engine_pb2_grpc.TableServiceStub

    def __init__(
        self,
        tables: Tables,
        journal: Journal,
        clock: Clock,
        settings: EngineSettings,
        address: str,
        shedding: Shedding,
        invites: Invites,
        routes: Routes,
        forwarding: Forwarding,
        revocations: Revocations,
        sessions: Sessions | None,
    ) -> None:
        """``sessions`` is None where a player may have several."""
        self._revocations = revocations
        self._sessions = sessions
        self.forwarding: Final = forwarding
        self._routes = routes
        self._tables = tables
        self._invites = invites
        self._shedding = shedding
        self._journal = journal
        self._rounds = FinishedRounds(journal)
        self._clock = clock
        self._settings = settings
        self._address = address
        self._commands = PlayerCommands(settings.hold_wait_ms, settings.command_timeout_ms)
        self._attaching = Attaching(settings.engine_name, invites, routes)
        self._streams = PlayStreams(
            tables,
            self._attaching,
            self._commands,
            forwarding,
            clock,
            shedding,
            revocations,
            sessions,
        )
        self._arranged: OrderedDict[str, int] = OrderedDict()

    @forwarded
    async def OpenTable(
        self, request: engine_pb2.OpenTableRequest, context: Context
    ) -> engine_pb2.OpenTableResponse:
        """Make a table; the player takes seat 0 (W1)."""
        refuse_in_maintenance(self._tables.maintenance.is_on)
        self._shedding.refuse_if_busy()
        config = _config(request, self._tables.is_readable(e.MatchClaimed), self._settings)
        actor, accepted = await self._tables.open(
            c.OpenTable(config, request.player),
            request_of(request.player, request, request.request_id),
            ((request.player, display_name(request.display_name)),),
        )
        status = await self._commands.hold_status(actor, asked_hold(accepted, request.player))
        invite = await self._invites.code_for(actor.table, request.player)
        return engine_pb2.OpenTableResponse(
            table_id=config.table_id, seat=0, hold_status=status, invite=invite
        )

    @forwarded
    async def TakeSeat(
        self, request: engine_pb2.TakeSeatRequest, context: Context
    ) -> engine_pb2.TakeSeatResponse:
        """Sit a player down."""
        refuse_in_maintenance(self._tables.maintenance.is_on)
        self._shedding.refuse_if_busy()
        knock = Knock(request.player, request.player, request.invite)
        actor = await self._invites.let_in(request.table_id, knock)
        request.ClearField("invite")  # however it is written, the request is the same
        return await self._commands.take_seat(actor, request.player, request)

    @forwarded
    async def LeaveSeat(
        self, request: engine_pb2.LeaveSeatRequest, context: Context
    ) -> engine_pb2.LeaveSeatResponse:
        """Leave, free of charge."""
        player = _player_in(request.player)
        actor = await self._tables.get(request.table_id)
        return await self._commands.leave_seat(actor, player, request)

    @forwarded
    async def AddNonce(
        self, request: engine_pb2.AddNonceRequest, context: Context
    ) -> engine_pb2.AddNonceResponse:
        """Add to the coming shuffle."""
        actor = await self._tables.get(request.table_id)
        return await self._commands.add_nonce(actor, current_identity().player, request)

    @forwarded
    async def Act(self, request: engine_pb2.ActRequest, context: Context) -> engine_pb2.ActResponse:
        """One action of a turn."""
        actor = await self._tables.get(request.table_id)
        return await self._commands.act(actor, current_identity().player, request)

    @forwarded
    async def Forfeit(
        self, request: engine_pb2.ForfeitRequest, context: Context
    ) -> engine_pb2.ForfeitResponse:
        """Give the match up."""
        actor = await self._tables.get(request.table_id)
        return await self._commands.forfeit(actor, current_identity().player, request)

    @forwarded
    async def ClaimMatch(
        self, request: engine_pb2.ClaimMatchRequest, context: Context
    ) -> engine_pb2.ClaimMatchResponse:
        """End the match as its winner."""
        actor = await self._tables.get(request.table_id)
        return await self._commands.claim_match(actor, current_identity().player, request)

    @forwarded
    async def ReturnToSeat(
        self, request: engine_pb2.ReturnToSeatRequest, context: Context
    ) -> engine_pb2.ReturnToSeatResponse:
        """Come back from a stand-in."""
        actor = await self._tables.get(request.table_id)
        return await self._commands.return_to_seat(actor, current_identity().player, request)

    @forwarded
    async def PlayOn(
        self, request: engine_pb2.PlayOnRequest, context: Context
    ) -> engine_pb2.PlayOnResponse:
        """Pay again for the Nachspiel; in maintenance too, since who is silent loses the kasa."""
        actor = await self._tables.get(request.table_id)
        return await self._commands.play_on(actor, current_identity().player, request)

    @forwarded
    async def GetTable(
        self, request: engine_pb2.GetTableRequest, context: Context
    ) -> engine_pb2.GetTableResponse:
        """The table as the caller may see it."""
        knock = Knock.of(current_identity(), request.invite)
        actor = await self._invites.let_in(request.table_id, knock)
        viewer = actor.table.seat_of(knock.player)
        now_ms = self._clock.now_ms()
        return engine_pb2.GetTableResponse(
            view=view_message(actor.table, viewer, actor.seq, now_ms, actor.names)
        )

    async def LocateTable(
        self, request: engine_pb2.LocateTableRequest, context: Context
    ) -> engine_pb2.LocateTableResponse:
        """The engine that has the table, by the database: no table is loaded for it."""
        if await self._journal.registered(request.table_id) is None:
            raise NoSuchTable(f"there is no table {request.table_id}")
        owner = await self._routes.owner_of(request.table_id)
        if owner is None:
            raise NotOwner(request.table_id, "", "")
        return engine_pb2.LocateTableResponse(address=owner.address, engine=owner.engine)

    @forwarded
    async def WhereAmI(
        self, request: engine_pb2.WhereAmIRequest, context: Context
    ) -> engine_pb2.WhereAmIResponse:
        """The table where the player sits (W3)."""
        player = _player_in(request.player)
        table_id = await self._journal.seated_at(player)
        if not table_id:
            return engine_pb2.WhereAmIResponse(seat=-1)
        actor = await self._tables.get(table_id)
        seat = actor.table.seat_of(player)
        if seat < 0:
            return engine_pb2.WhereAmIResponse(seat=-1)
        return engine_pb2.WhereAmIResponse(table_id=table_id, seat=seat, address=self._address)

    async def GetDisplayNames(
        self, request: engine_pb2.GetDisplayNamesRequest, context: Context
    ) -> engine_pb2.GetDisplayNamesResponse:
        """Names by player, from the database, which an erased one has left."""
        self._shedding.refuse_if_busy()
        names = await self._journal.names(request.player_ids)
        shown = {player: name for player, name in names.items() if name}
        return engine_pb2.GetDisplayNamesResponse(display_names=shown)

    @forwarded
    async def ArrangeRack(
        self, request: engine_pb2.ArrangeRackRequest, context: Context
    ) -> engine_pb2.ArrangeRackResponse:
        """Sort the caller's own rack towards the nearer finish, or the one that was announced."""
        player = current_identity().player
        self._refuse_if_arranged_too_often(player)
        state = (await self._tables.get(request.table_id)).table
        seat = state.seat_of(player)
        hand = state.round.hands[seat] if state.round is not None and seat >= 0 else None
        if state.round is None or hand is None or not hand.rack:
            raise NoRound(f"{player} holds no tiles at table {request.table_id} now")
        goal = Goal.CIFT if hand.announced_at else Goal.EITHER
        arrangement = arrange_towards(hand.rack, state.round.okey, goal)
        return engine_pb2.ArrangeRackResponse(
            melds=_melds(arrangement), distance=arrangement.distance
        )

    @writes_itself
    @ends_itself
    @validates_itself
    async def Play(
        self, request_iterator: AsyncIterator[engine_pb2.PlayRequest], context: Context
    ) -> None:
        """Attach first, then commands up, results and updates down."""
        await self._streams.serve(request_iterator, current_identity(), context)

    @writes_itself
    @ends_itself
    async def WatchTable(self, request: engine_pb2.WatchTableRequest, context: Context) -> None:
        """Follow a table."""
        identity = current_identity()
        after = request.after_seq if request.HasField("after_seq") else None
        try:
            knock = Knock.of(identity, request.invite)
            actor = await self._attaching.let_in(request.table_id, knock)
        except NotOwner as error:
            end = elsewhere(error, after)
            await context.write(engine_pb2.WatchTableResponse(end=end).SerializeToString())
            return
        if self._sessions is not None:
            await self._sessions.enter(identity)
        start = From(after, request.with_view)
        if actor.table.seat_of(identity.player) < 0:
            self._shedding.refuse_if_busy()
        with (
            self._shedding.stream(),
            watching(actor, identity, start, self._revocations) as watcher,
        ):
            end = await follow(actor, watcher, start, self._clock, context.write)
            await context.write(engine_pb2.WatchTableResponse(end=end).SerializeToString())

    @forwarded
    async def ListEvents(
        self, request: engine_pb2.ListEventsRequest, context: Context
    ) -> engine_pb2.ListEventsResponse:
        """A finished round in full."""
        self._shedding.refuse_if_busy()
        knock = Knock.of(current_identity(), request.invite)
        await self._invites.let_in(request.table_id, knock)
        key = RoundKey(request.table_id, request.match_no, request.round_no)
        # The interceptor takes bytes for a message that was serialized before.
        return cast(engine_pb2.ListEventsResponse, await self._rounds.answer(key))

    def _refuse_if_arranged_too_often(self, player: str) -> None:
        now_ms = self._clock.monotonic_ms()
        last_ms = self._arranged.pop(player, now_ms - _ARRANGE_EVERY_MS)
        self._arranged[player] = max(last_ms, now_ms - _ARRANGE_EVERY_MS)
        if now_ms - last_ms < _ARRANGE_EVERY_MS:
            raise ArrangedTooOften(f"once in {_ARRANGE_EVERY_MS} ms is enough; wait a little")
        self._arranged[player] = now_ms
        while len(self._arranged) > _ARRANGERS_KEPT:
            self._arranged.popitem(last=False)


def _player_in(named: str) -> str:
    """The player that the lobby names, or the caller.

    Raises ``NotThisPlayer`` where somebody else names another one, or the lobby none.
    """
    identity = current_identity()
    player = named or identity.player
    if not player:
        raise NotThisPlayer(f"{identity.subject} is no player: name the player")
    if player != identity.player and Role.LOBBY not in identity.roles:
        raise NotThisPlayer(f"{identity.subject} cannot act for {player}: leave player empty")
    return player


def _config(
    request: engine_pb2.OpenTableRequest, can_all_read: bool, settings: EngineSettings
) -> TableConfig:
    return TableConfig(
        table_id=_table_id(request.player, request.request_id),
        variant=Variant(request.variant or Variant.CANAK),
        mode=Mode(request.mode or Mode.NORMAL),
        seat_count=request.seat_count,
        stake=request.stake,
        turn_timeout_ms=settings.hurried_ms(request.turn_timeout_ms),
        start_points=request.start_points,
        bot_level=BotLevel(request.bot_level or BotLevel.NORMAL),
        house_fill_after_ms=settings.hurried_ms(request.house_fill_after_ms),
        rules=settings.rules(can_all_read=can_all_read),
        is_private=request.is_private,
    )


def _table_id(player: str, request_id: str) -> str:
    """26 characters that follow from the request, so that its repetition makes no twin."""
    digest = hashlib.sha256(f"table\0{player}\0{request_id}".encode()).digest()
    return base64.b32encode(digest[:16]).decode().rstrip("=").lower()


def _melds(arrangement: Arrangement) -> list[engine_pb2.ArrangedMeld]:
    melds = [
        engine_pb2.ArrangedMeld(
            kind=common_pb2.MeldKind.Value(f"MELD_KIND_{meld.kind.name}"),
            tiles=_tiles(meld.tiles),
        )
        for meld in arrangement.melds
    ]
    loose = [*arrangement.parts, arrangement.singles]
    return melds + [engine_pb2.ArrangedMeld(tiles=_tiles(tiles)) for tiles in loose if tiles]


def _tiles(tiles: tuple[Tile, ...]) -> list[common_pb2.Tile.ValueType]:
    return [common_pb2.Tile.ValueType(tile) for tile in tiles]
