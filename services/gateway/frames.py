"""The frames of the WebSocket, as docs/gateway.md tells them."""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_client.calls import is_repeatable
from okey_client.resumed import Message
from okey_runtime.errors import MalformedRequest, RpcFailure
from okey_runtime.identity import Identity
from services.gateway.encoding import encode
from services.gateway.ending import Ending
from services.gateway.failures import error_object
from services.gateway.page_files import page_build
from services.gateway.wire import Json, read_object

TABLE: Final = "table"
TICKET: Final = "ticket"
TABLES: Final = "tables"
_CONNECTION: Final = "connection"


def read(frame: str | bytes) -> tuple[str, Json]:
    """What a client's frame is, and what it says.

    Raises:
        MalformedRequest: it is no object with one key and an object below it.
    """
    content = read_object(frame)
    if len(content) != 1:
        raise MalformedRequest(f"a frame has one key, this one has {len(content)}")
    [(kind, said)] = content.items()
    if not isinstance(said, dict):
        raise MalformedRequest("what stands below a frame's key is an object")
    return kind, said


def welcome(player: Identity, now_ms: int) -> str:
    """The client is who it says."""
    told = {
        "player_id": player.subject,
        "name": player.name,
        "expires_at_ms": player.expires_ms,
        "server_time_ms": now_ms,
        "page_build": page_build(),
    }
    return _frame(welcome=told)


def table(table_id: str, message: Message) -> str:
    """What the engine has sent of a table."""
    return _frame(table=encode(message), table_id=table_id)


def accepted(table_id: str, request_id: str, seq: int) -> str:
    """A command counts: the row that it became."""
    result = engine_pb2.CommandResult(request_id=request_id, seq=seq)
    return table(table_id, engine_pb2.PlayResponse(result=result))


def declined(table_id: str, request_id: str, failure: RpcFailure) -> str:
    """A command was refused."""
    result = {"request_id": request_id, "seq": "0", "error": error_object(failure)}
    return _frame(table={"result": result}, table_id=table_id)


def away(of: str) -> str:
    """Nothing comes just now."""
    return _frame(away={"of": of})


def ticket(newest: lobby_pb2.Ticket) -> str:
    """A quick-match ticket."""
    return _frame(ticket=encode(newest))


def tables(listed: Iterable[lobby_pb2.ListedTable]) -> str:
    """A list of tables."""
    return _frame(tables=[encode(each) for each in listed])


def pong(said: Json, now_ms: int) -> str:
    """The answer to a ping; of what it said only a number is given back."""
    number = said.get("id")
    return _frame(pong={"id": number if isinstance(number, int) else 0, "server_time_ms": now_ms})


def error(failure: RpcFailure) -> str:
    """A frame could not be used."""
    return _frame(error=error_object(failure))


def over(of: str, reason: str) -> str:
    """A table or a watch has come to its natural end."""
    return _frame(end={"of": of, "reason": reason, "is_resumable": False})


def broken(of: str, failure: RpcFailure) -> str:
    """A table or a watch has ended with a failure."""
    end = {
        "of": of,
        "reason": failure.reason or failure.code.name,
        "is_resumable": is_repeatable(failure),
        "error": error_object(failure),
    }
    return _frame(end=end)


def end_of_connection(ending: Ending) -> str:
    """The last frame."""
    end: Json = {
        "of": _CONNECTION,
        "reason": ending.reason,
        "is_resumable": ending.is_resumable,
    }
    if ending.retry_after_ms is not None:
        end["retry_after_ms"] = ending.retry_after_ms
    if ending.failure is not None:
        end["error"] = error_object(ending.failure)
    return _frame(end=end)


def _frame(**content: Any) -> str:
    return orjson.dumps(content).decode()
