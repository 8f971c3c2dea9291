"""The trail of what operators do: who called what, about which object, and how it ended.

Lines go to the log under the logger ``okey.audit``, whatever the log's level, and to a file of
their own where ``OKEY_AUDIT_FILE`` names one. Each operator's call is there, refused ones and reads
of others' accounts too.
"""

from collections.abc import Iterable
from typing import Final

from google.protobuf.message import Message

from okey_runtime.identity import Identity, Role
from okey_runtime.logging import AUDIT_LOGGER, get_logger

OBJECTS: Final = frozenset(
    {
        "account", "allow_unknown", "amount", "approval_id", "check_only", "engine", "expires_ms",
        "freeze", "hold_id", "idempotency_key", "is_on", "issued_before_ms", "journal_id",
        "ladder", "match_id", "name", "player", "player_id", "reason", "repair", "request_id",
        "season", "seat", "since_ms", "table_id", "token_id",
    }
)  # fmt: skip
"""Fields of requests that name what is acted on and why; nothing else of a request is told."""

_log = get_logger(AUDIT_LOGGER)


_WATCHED: Final = frozenset({Role.OPERATOR, Role.IDENTITY})
"""Roles whose calls are in the trail; the identity provider revokes tokens of others."""


class OperatorTrail:
    """Writes a line for each ended call of an operator, or of the identity provider."""

    def ended(
        self, caller: Identity | None, method: str, request: object, code: str, reason: str
    ) -> None:
        """Note the end of a call, if its caller is one of those."""
        if caller is None or not caller.has_any(_WATCHED):
            return
        about = dict(_objects(request)) if isinstance(request, Message) else {}
        _log.info(
            "operator_call",
            operator=caller.subject,
            roles=sorted(caller.roles),
            call=method,
            about=about,
            outcome=code,
            refusal=reason,
        )


def _objects(request: Message) -> Iterable[tuple[str, str | int | bool]]:
    for field, value in request.ListFields():
        if field.name in OBJECTS and isinstance(value, str | int | bool):
            yield field.name, value
