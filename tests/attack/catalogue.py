"""Every attack by its name, with what it does in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from tests.attack.raid import Attack

CONTROL: Final = "control"


@dataclass(frozen=True, slots=True)
class Kind:
    """One attack: whom it goes to, what it does, and which function of which module makes it. The
    module is imported by the attacker alone, which so starts fast.
    """

    victim: str
    what: str
    module: str
    function: str
    arguments: tuple[str, ...] = ()

    def attack(self) -> Attack:
        """What the attacker runs."""
        made: Attack = getattr(import_module(f"tests.attack.{self.module}"), self.function)(
            *self.arguments
        )
        return made


_BOTH_WAYS: Final = (
    ("bombs", "compressed messages of 1 to 64 kB, 1 to 64 MB when inflated, no token", "content"),
    (
        "messages",
        "1 MB of list items, deep nesting, wrong UTF-8, unknown fields, no token",
        "content",
    ),
    ("player_messages", "the same with a player's token", "content"),
    ("rapid_reset", "HEADERS and RST_STREAM", "connections"),
    ("unfinished_calls", "HEADERS without a message", "connections"),
    ("continuations", "HEADERS that never end", "connections"),
    ("half_bodies", "900 kB of a message, but for its last byte", "connections"),
    ("silent", "connections that say nothing, or half a preface", "connections"),
    ("handshakes", "TLS where none is spoken, nonsense", "connections"),
    ("control_frames", "PING and SETTINGS without a pause", "connections"),
    ("blind_readers", "no window for answers, socket not read", "connections"),
    ("bad_tokens", "a new forged token a call", "tokens"),
    ("odd_calls", "calls that somebody may want to log", "tokens"),
)
_ON_GATEWAY: Final = (
    ("slow_headers", "slowloris", "web"),
    ("slow_bodies", "bodies of a few bytes a second", "web"),
    ("garbage", "what is no HTTP", "web"),
    ("pipelined", "100 requests at once, answers not read", "web"),
    ("no_hello", "WebSockets without hello", "web"),
    ("pings", "WebSocket pings without a pause", "web"),
    ("unread_pongs", "the same, and the pongs are not read", "web"),
    ("empty_fragments", "a WebSocket message in endless empty pieces", "web"),
    ("invalid_frames", "WebSocket frames that are not allowed, no hello", "web"),
    ("aborted_posts", "half a body, then the connection breaks", "web"),
    ("bad_tokens_gateway", "a new forged token a request", "tokens"),
)
_WITH_TOKENS: Final = (
    ("subscribers", "30 replays of all events at once, an integrator", "callers"),
    ("player_lists", "ListEvents of long tables, 8 players within their limit", "callers"),
    ("integrator_lists", "ListEvents of long tables, an integrator", "callers"),
    ("busy_players", "8 players, each within the limit of each call", "callers"),
)


def _catalogue() -> Mapping[str, Kind]:
    control = Kind("nobody", "a process that computes and sends nothing", "raid", CONTROL)
    kinds = {CONTROL: control}
    for way, victim in (("direct", "gRPC"), ("edge", "Envoy")):
        for name, what, module in _BOTH_WAYS:
            kinds[_named(name, way)] = Kind(victim, what, module, name, (way,))
    for victim, group in (("gateway", _ON_GATEWAY), ("gRPC", _WITH_TOKENS)):
        for name, what, module in group:
            kinds[_named(name)] = Kind(victim, what, module, name)
    return kinds


def _named(*parts: str) -> str:
    return "-".join(parts).replace("_", "-")


CATALOGUE: Final = _catalogue()
