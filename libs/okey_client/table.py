"""One table, as a player or a spectator uses it."""

import secrets
from collections.abc import Callable
from typing import Any, Final

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.rules.tile import Tile
from okey.table import commands
from okey.table.commands import Action, DrawSource
from okey_client.calls import Calls, UnaryMethod, new_request_id
from okey_client.channels import Channels
from okey_client.commands import Commands
from okey_client.mirror import AddNonce, TableMirror
from okey_client.play import NONCE_BYTES, NONCE_REFUSALS, PlayedTable
from okey_client.pure import action_message
from okey_client.relay import RelayedTable
from okey_client.resumed import Open, ResumedStream, Stream
from okey_runtime.errors import RpcFailure


class TableClient:
    """Commands at one table; every refused one raises ``RpcFailure``.

    ``turn`` is the number of the turn that an action is made for, as the view names it (U12).
    ``invite`` is the code of a private table; who sits there needs none.
    """

    def __init__(
        self, table_id: str, address: str, channels: Channels, calls: Calls, *, invite: str = ""
    ) -> None:
        self.table_id: Final = table_id
        self._invite = invite
        self._address = address
        self._channels = channels
        self._calls = calls
        self._stub = engine_pb2_grpc.TableServiceStub(channels.to(address))

    async def get(self) -> table_pb2.TableView:
        """The table as the caller may see it now."""
        request = engine_pb2.GetTableRequest(table_id=self.table_id, invite=self._invite)
        return (await self._calls.unary(self._stub.GetTable, request, self._at("GetTable"))).view

    def follow(self, *, adds_nonces: bool = True) -> TableMirror:
        """The table kept up to date: iterate over it for what changes.

        The first change is the table as it stands now, and has no events. So has each one after a
        gap that was too long to be filled: the view counts, not what happened before it.

        While the caller is seated it adds a random nonce to every coming shuffle, unless
        ``adds_nonces`` is off (T9).
        """
        return self._mirror(self._watch, self.offer_nonce if adds_nonces else None)

    def play(self) -> PlayedTable:
        """The caller's seat over one stream: ``async with`` it, iterate for what changes, give
        commands meanwhile. Nonces are added as by ``follow`` (T9).
        """
        attach = engine_pb2.Attach(table_id=self.table_id, with_view=True, invite=self._invite)
        return PlayedTable(Commands(attach, self._calls, self._ask_alone), self._mirror)

    def relay(
        self, *, after_seq: int = 0, with_view: bool = False, on_break: Callable[[], None]
    ) -> RelayedTable:
        """The table over one stream, as the engine sends it, for those who pass it on.

        ``after_seq`` is the newest row that is known already, 0 for a snapshot. ``with_view``:
        every update carries the whole view. ``on_break`` hears that the engine is away.
        """
        attach = engine_pb2.Attach(table_id=self.table_id, with_view=with_view, invite=self._invite)
        commands = Commands(attach, self._calls, self._ask_alone)
        return RelayedTable(
            commands,
            ResumedStream(
                self._address,
                self._channels,
                self._calls,
                commands.open,
                after_seq=after_seq,
                on_break=on_break,
            ),
        )

    def _mirror(self, open_stream: Open, add_nonce: AddNonce | None) -> TableMirror:
        stream = ResumedStream(self._address, self._channels, self._calls, open_stream)
        return TableMirror(self.table_id, stream, get_view=self.get, add_nonce=add_nonce)

    def _watch(self, stub: engine_pb2_grpc.TableServiceStub, after_seq: int) -> Stream:
        return stub.WatchTable(
            engine_pb2.WatchTableRequest(
                table_id=self.table_id,
                with_view=True,
                after_seq=after_seq or None,
                invite=self._invite,
            )
        )

    async def draw_from_stock(self, turn: int) -> Tile:
        """Draw the top of the stock (U1); the tile."""
        return await self._draw(turn, DrawSource.STOCK)

    async def draw_from_discard(self, turn: int) -> Tile:
        """Draw the left neighbour's topmost discard (U1); the tile."""
        return await self._draw(turn, DrawSource.DISCARD)

    async def discard(self, turn: int, tile: Tile) -> None:
        """Lay a tile on one's own pile, which ends the turn (U1)."""
        await self.act(turn, commands.Discard(tile))

    async def finish(self, turn: int, tile: Tile) -> None:
        """Lay a tile on the gösterge and have the other 14 judged (H7); a false finish is free."""
        await self.act(turn, commands.Finish(tile))

    async def announce_cift(self, turn: int) -> None:
        """Announce that one plays for seven pairs (H10)."""
        await self.act(turn, commands.AnnounceCift())

    async def withdraw_cift(self, turn: int) -> None:
        """Take the announcement back (H11)."""
        await self.act(turn, commands.WithdrawCift())

    async def show_gosterge(self, turn: int) -> None:
        """Show the second copy of the gösterge (K3)."""
        await self.act(turn, commands.ShowGosterge())

    async def act(self, turn: int, action: Action) -> engine_pb2.ActResponse:
        """Do one action of a turn."""
        request = engine_pb2.ActRequest(
            table_id=self.table_id,
            request_id=new_request_id(),
            turn=turn,
            action=action_message(action),
        )
        return await self._calls.unary(self._stub.Act, request, self._at("Act"))

    async def leave(self) -> None:
        """Leave before a match or after it, free of charge (W2)."""
        request = engine_pb2.LeaveSeatRequest(table_id=self.table_id, request_id=new_request_id())
        await self._calls.unary(self._stub.LeaveSeat, request, self._at("LeaveSeat"))

    async def forfeit(self) -> None:
        """Give the running match up, for the price that the view names (M9)."""
        request = engine_pb2.ForfeitRequest(table_id=self.table_id, request_id=new_request_id())
        await self._calls.unary(self._stub.Forfeit, request, self._at("Forfeit"))

    async def claim_match(self) -> None:
        """End the Klasik match as its winner, where everybody else gave up (K9)."""
        request = engine_pb2.ClaimMatchRequest(table_id=self.table_id, request_id=new_request_id())
        await self._calls.unary(self._stub.ClaimMatch, request, self._at("ClaimMatch"))

    async def return_to_seat(self) -> None:
        """Take the seat back from its stand-in (U8)."""
        request = engine_pb2.ReturnToSeatRequest(
            table_id=self.table_id, request_id=new_request_id()
        )
        await self._calls.unary(self._stub.ReturnToSeat, request, self._at("ReturnToSeat"))

    async def play_on(self) -> engine_pb2.PlayOnResponse:
        """Stay for the Nachspiel and pay the stake again (Ç8)."""
        request = engine_pb2.PlayOnRequest(table_id=self.table_id, request_id=new_request_id())
        return await self._calls.unary(self._stub.PlayOn, request, self._at("PlayOn"))

    async def add_nonce(self, nonce: bytes) -> None:
        """Add 32 bytes of one's own to the coming shuffle, once a deal (T9)."""
        request = engine_pb2.AddNonceRequest(
            table_id=self.table_id, request_id=new_request_id(), nonce=nonce
        )
        await self._calls.unary(self._stub.AddNonce, request, self._at("AddNonce"))

    async def offer_nonce(self) -> bool:
        """Add a random nonce to the coming shuffle; says whether one was still wanted (T9)."""
        try:
            await self.add_nonce(secrets.token_bytes(NONCE_BYTES))
        except RpcFailure as failure:
            if failure.reason in NONCE_REFUSALS:
                return False
            raise
        return True

    async def arrange_rack(self) -> engine_pb2.ArrangeRackResponse:
        """The caller's own rack sorted into melds, and its distance to a finish."""
        request = engine_pb2.ArrangeRackRequest(table_id=self.table_id)
        return await self._calls.unary(self._stub.ArrangeRack, request, self._at("ArrangeRack"))

    async def finished_round(self, match_no: int, round_no: int) -> engine_pb2.ListEventsResponse:
        """A finished round in full: deal, seed, every tile (T9)."""
        request = engine_pb2.ListEventsRequest(
            table_id=self.table_id, match_no=match_no, round_no=round_no, invite=self._invite
        )
        return await self._calls.unary(self._stub.ListEvents, request, self._at("ListEvents"))

    def _at(self, method: str) -> Callable[[str], UnaryMethod[Any, Any]]:
        """The same method at an engine that has the table by now."""

        def at(address: str) -> UnaryMethod[Any, Any]:
            stub = engine_pb2_grpc.TableServiceStub(self._channels.to(address))
            found: UnaryMethod[Any, Any] = getattr(stub, method)
            return found

        return at

    async def _ask_alone(self, request: engine_pb2.PlayRequest) -> int:
        kind = request.WhichOneof("message") or ""
        name = "".join(word.title() for word in kind.split("_"))
        at = self._at(name)
        row: int = (await self._calls.unary(at(self._address), getattr(request, kind), at)).seq
        return row

    async def _draw(self, turn: int, source: DrawSource) -> Tile:
        return Tile((await self.act(turn, commands.Draw(source))).drawn)
