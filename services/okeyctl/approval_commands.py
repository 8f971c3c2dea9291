"""``okeyctl wallet approvals``: grants and take-backs that wait for a second operator."""

from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.identity import display_name
from services.okeyctl.as_json import json_line
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.connecting import calls
from services.okeyctl.ending import Output
from services.okeyctl.options import AsJson, AsJsonLines, Reason
from services.okeyctl.reach import Reach

_INT64_MAX: Final = 2**63 - 1
_PAGE: Final = 1_000

app = typer.Typer(
    help="See, approve or reject what waits for a second operator.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

ApprovalId = Annotated[
    int,
    typer.Argument(
        metavar="REQUEST", help="Its number, as `list` shows it.", min=1, max=_INT64_MAX
    ),
]

Stub = wallet_pb2_grpc.WalletServiceStub


@app.command("list")
@calls("wallet")
def show_list(
    way: Reach,
    show_all: Annotated[
        bool, typer.Option("--all", help="Also what is decided or expired.")
    ] = False,
    as_json: AsJsonLines = False,
) -> None:
    """List what waits, newest first.

    At most 1,000 requests.
    """
    request = wallet_pb2.ListApprovalsRequest(include_decided=show_all, page_size=_PAGE)
    answer = ask(way, Stub, lambda stub: stub.ListApprovals(request, timeout=TIMEOUT_S))
    if as_json:
        for each in answer.approvals:
            print(json_line(each))
        return
    table = Table("request", "state", "account", "chips", "by", "reason", "expires (UTC)")
    for each in answer.approvals:
        table.add_row(
            str(each.approval_id),
            _state(each),
            each.account,
            f"{each.chips:+,}",
            each.requester,
            Text(display_name(each.reason)),
            datetime.fromtimestamp(each.expires_at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M"),
        )
    Output().print(table)


@app.command()
@calls("wallet")
def approve(way: Reach, number: ApprovalId, reason: Reason, as_json: AsJson = False) -> None:
    """Book another operator's request, exactly as it was made."""
    request = wallet_pb2.ApproveOperationRequest(approval_id=number, reason=reason)
    answer = ask(way, Stub, lambda stub: stub.ApproveOperation(request, timeout=TIMEOUT_S))
    found = answer.approval
    text = (
        f"journal {answer.receipt.journal_id}: {found.chips:+,} chips on {found.account}, asked "
        f"for by {found.requester}, approved by {found.decided_by}"
    )
    print(json_line(answer) if as_json else text)


@app.command()
@calls("wallet")
def reject(way: Reach, number: ApprovalId, reason: Reason, as_json: AsJson = False) -> None:
    """Reject a request for good, also one's own."""
    request = wallet_pb2.RejectOperationRequest(approval_id=number, reason=reason)
    answer = ask(way, Stub, lambda stub: stub.RejectOperation(request, timeout=TIMEOUT_S))
    text = f"request {number} of {answer.approval.requester} is rejected"
    print(json_line(answer) if as_json else text)


def _state(approval: wallet_pb2.Approval) -> str:
    name: str = wallet_pb2.ApprovalState.Name(approval.state)
    return name.removeprefix("APPROVAL_STATE_").lower()
