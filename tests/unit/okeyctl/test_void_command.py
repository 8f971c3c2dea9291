"""``okeyctl tables void`` says what came of it."""

from okey.api.engine.v1 import engine_pb2
from services.okeyctl.void_command import void_lines

TABLE = "t" * 26


def test_a_table_that_could_be_read_is_closed_by_a_row() -> None:
    """M10."""
    [line] = void_lines(TABLE, engine_pb2.VoidTableResponse(seq=7))
    assert line == f"{TABLE} is closed by its row 7; every stake goes back."


def test_a_table_past_its_journal_names_the_matches_and_what_the_wallet_keeps() -> None:
    """M10: with the runbook where there is something left to do."""
    response = engine_pb2.VoidTableResponse(match_ids=[f"{TABLE}-1", f"{TABLE}-2"])
    assert void_lines(TABLE, response) == [
        f"{TABLE} is closed past its journal, which does not replay.",
        f"The wallet was told to void {TABLE}-1, {TABLE}-2.",
    ]
    response.left_at_wallet = "TABLE_NOT_IDLE"
    assert "TABLE_NOT_IDLE" in void_lines(TABLE, response)[-1]
    assert "table-quarantined.md" in void_lines(TABLE, response)[-1]
