"""The tickets' scripts in Redis, and the names of their keys.

Keys, all in one cluster slot by their hash tag, so that a script may touch several at once:

- ``okey:{quick-match}:ticket:<player>``  hash of the player's newest ticket: ticket_id, bucket,
  state, rating (milli-points), enqueued_ms, since_ms (when it could first be matched), seen_ms
  (when its client was last heard of), order (of arrival), fill_ms, avoided, held_until_ms (until
  when it is not matched, since its player gives an old seat up), while it is live name,
  partner and code, while it is SEATING group; then table_id, seat, reason, ended_ms; goes away by
  itself
- ``okey:{quick-match}:queue:<bucket>``  sorted set of the players who wait for the same terms, by
  order
- ``okey:{quick-match}:buckets``  set of the buckets that have a queue
- ``okey:{quick-match}:live``  sorted set of every player with a live ticket, by order
- ``okey:{quick-match}:order``  counter of arrivals
- ``okey:{quick-match}:party:<code>``  who waits for a partner under a code; goes away by itself
- ``okey:{quick-match}:typical:<bucket>``  how long tickets waited lately, ms; goes away by itself
- ``okey:{quick-match}:pass:<bucket>``  hash of who passes over the bucket until when; a lease, for
  speed alone
- ``okey:{quick-match}:group:<id>``  hash of a group that is being seated: text, attempt, and while
  seats are taken back verdict and table_id
- ``okey:{quick-match}:leases``  sorted set of those groups, by the end of their leases
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from services.lobby.ticket import QuickMatchUnavailable

PREFIX: Final = "okey:{quick-match}:"
BUCKETS: Final = f"{PREFIX}buckets"
LEASES: Final = f"{PREFIX}leases"

KEEP_MS: Final = 600_000
"""How long a ticket can be asked for after its last change."""
SILENCE_LIMIT_MS: Final = 15_000
"""A waiting ticket whose client was not heard of for this long is over."""
FRESH_MS: Final = 5_000
"""A ticket is matched only while its client was heard of within this time."""

SCRIPTS: Final = Path(__file__).with_name("scripts") / "tickets"
_PRELUDE: Final = (SCRIPTS / "prelude.lua").read_text("utf-8")


def ticket_key(player: str) -> str:
    """The key of the player's newest ticket."""
    return f"{PREFIX}ticket:{player}"


def queue_key(bucket: str) -> str:
    """The key of a bucket's queue."""
    return f"{PREFIX}queue:{bucket}"


def group_key(group_id: str) -> str:
    """The key of a group that is being seated."""
    return f"{PREFIX}group:{group_id}"


def script(redis: Redis, name: str) -> AsyncScript:
    """The script of that name, after the prelude that all share."""
    text = (SCRIPTS / f"{name}.lua").read_text("utf-8")
    return redis.register_script(f"{_PRELUDE}\n{text}")


@contextmanager
def or_unavailable() -> Iterator[None]:
    """Redis that is away becomes QuickMatchUnavailable."""
    try:
        yield
    except RedisError as error:
        raise QuickMatchUnavailable(
            "quick match is not available right now: ask again in a moment"
        ) from error


def text(value: bytes | str) -> str:
    """What Redis answers, as text."""
    return value if isinstance(value, str) else value.decode()
