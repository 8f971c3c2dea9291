"""``okeyctl tables void``: ends a table that must not go on."""

import secrets
from typing import Final

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from services.okeyctl.reach import Reach

_TIMEOUT_S: Final = 30.0


async def void_table(engine: Reach, table_id: str, reason: str) -> engine_pb2.VoidTableResponse:
    """Have the engine end the table. Raises ``grpc.aio.AioRpcError``."""
    request = engine_pb2.VoidTableRequest(
        table_id=table_id, request_id=secrets.token_hex(16), reason=reason
    )
    async with engine.open() as channel:
        stub = engine_pb2_grpc.OperatorServiceStub(channel)
        return await stub.VoidTable(request, timeout=_TIMEOUT_S)


def void_lines(table_id: str, response: engine_pb2.VoidTableResponse) -> list[str]:
    """What came of it, for a person."""
    if response.seq:
        return [f"{table_id} is closed by its row {response.seq}; every stake goes back."]
    lines = [
        f"{table_id} is closed past its journal, which does not replay.",
        f"The wallet was told to void {', '.join(response.match_ids)}.",
    ]
    if response.left_at_wallet:
        lines.append(
            f"It did not close the table's accounts ({response.left_at_wallet}): see "
            "docs/runbooks/table-quarantined.md."
        )
    return lines
