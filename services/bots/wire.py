"""Views as the engine sends them, as pure values."""

from okey.api.engine.v1 import table_pb2
from okey.errors import InvalidInput
from okey.table.view import TableView
from okey_client.pure import pure_view
from okey_runtime.codec import UndecodableMessage


class ViewMalformed(InvalidInput):
    """A view holds what no engine of this version would send."""

    reason = "VIEW_MALFORMED"


def view_from(message: table_pb2.TableView) -> TableView:
    """The seat's view.

    Raises:
        ViewMalformed: an enum is unspecified or unknown where a value is needed.
    """
    try:
        return pure_view(message)
    except UndecodableMessage as error:
        raise ViewMalformed(f"the view cannot be read: {error}") from error
