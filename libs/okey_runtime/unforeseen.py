"""Maps an error to the status that its caller gets; logs an unexpected one under an id."""

import traceback
from types import TracebackType

from google.rpc import status_pb2

from okey_runtime.errors import internal_status, to_status
from okey_runtime.line_quota import LINES
from okey_runtime.logging import get_logger

_log = get_logger(__name__)


def status_for(error: BaseException) -> status_pb2.Status:
    """The status for a caller.

    An unexpected error becomes INTERNAL with an ``error_id``, and the log line with that id has the
    traceback. Errors raised on one source line within ten seconds share the id and the log line.
    """
    status = to_status(error)
    if status is not None:
        return status
    line, is_due = LINES.take((type(error), _place(error.__traceback__)), "error")
    if is_due:
        _log.error("unexpected_error", error_id=line.id, left_out=line.left_out, exc_info=error)
    return internal_status(line.id)


def _place(where: TracebackType | None) -> tuple[str, int] | None:
    """File and line that raised it."""
    last = None
    for frame, number in traceback.walk_tb(where):
        last = (frame.f_code.co_filename, number)
    return last
