"""What every error of the game tells machines."""

from okey.errors import Refused


def test_an_error_tells_machines_no_more_than_its_reason_unless_it_says_so() -> None:
    error = Refused("no")
    assert (error.reason, error.metadata, error.retry_after_ms) == ("REFUSED", {}, None)
