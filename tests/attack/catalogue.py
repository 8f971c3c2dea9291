"""Every attack by its name, with what it does in words."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.attack import callers, connections, content, tokens, web
from tests.attack.raid import Attack, Raid

CONTROL: Final = "control"
_SLICE_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Kind:
    """One attack: whom it goes to, what it does, and how."""

    victim: str
    what: str
    attack: Attack


async def _control(raid: Raid) -> None:
    """Computes and sends nothing: shows what an attacker's own CPU does to the figures."""
    await raid.go()
    while not raid.is_over:
        until_s = time.monotonic() + _SLICE_S
        while time.monotonic() < until_s:
            pass


def _catalogue() -> Mapping[str, Kind]:
    kinds = {CONTROL: Kind("nobody", "a process that computes and sends nothing", _control)}
    for way, victim in (("direct", "gRPC"), ("edge", "Envoy")):
        for name, what, attack in (
            ("bombs", "compressed messages, 64 MiB each when inflated", content.bombs(way)),
            (
                "content",
                "half a million items, deep nesting, wrong UTF-8, unknown fields: 1 MB, no token",
                content.messages(way, has_token=False),
            ),
            (
                "content-player",
                "the same with a player's token",
                content.messages(way, has_token=True),
            ),
            ("rapid-reset", "HEADERS and RST_STREAM", connections.rapid_reset(way)),
            ("unfinished", "HEADERS without a message", connections.unfinished_calls(way)),
            ("continuation", "HEADERS that never end", connections.continuations(way)),
            (
                "half-bodies",
                "900 kB of a message, but for its last byte",
                connections.half_bodies(way),
            ),
            ("silent", "connections that say nothing, or half a preface", connections.silent(way)),
            ("handshakes", "TLS where none is spoken, nonsense", connections.handshakes(way)),
            (
                "control-frames",
                "PING and SETTINGS without a pause",
                connections.control_frames(way),
            ),
            ("blind", "no window for answers, socket not read", connections.blind_readers(way)),
            ("bad-tokens", "a new forged token a call", tokens.over_grpc(way)),
            ("odd-calls", "calls that somebody may want to log", tokens.odd_calls(way)),
        ):
            kinds[f"{name}-{way}"] = Kind(victim, what, attack)
    for name, what, attack in (
        ("slow-headers", "slowloris", web.slow_headers()),
        ("slow-bodies", "bodies of a few bytes a second", web.slow_bodies()),
        ("garbage", "what is no HTTP", web.garbage()),
        ("pipelined", "100 requests at once, answers not read", web.pipelined()),
        ("no-hello", "WebSockets without hello", web.no_hello()),
        ("pings", "WebSocket pings without a pause", web.pings()),
        ("unread-pongs", "the same, and the pongs are not read", web.unread_pongs()),
        ("empty-fragments", "a WebSocket message in endless empty pieces", web.empty_fragments()),
        ("invalid-frames", "WebSocket frames that are not allowed, no hello", web.invalid_frames()),
        ("aborted-posts", "half a body, then the connection breaks", web.aborted_posts()),
        ("bad-tokens-gateway", "a new forged token a request", tokens.over_gateway()),
    ):
        kinds[name] = Kind("gateway", what, attack)
    kinds["subscribers"] = Kind("engine", "30 replays of all events at once", callers.subscribers())
    for way in ("player", "integrator"):
        what = f"ListEvents of long tables, {way}"
        kinds[f"list-events-{way}"] = Kind("engine", what, callers.event_lists(way))
    kinds["busy-players"] = Kind(
        "gRPC", "8 players, each within its limits", callers.busy_players()
    )
    return kinds


CATALOGUE: Final = _catalogue()
