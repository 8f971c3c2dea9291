"""``okeyctl demo``: starts a platform, plays every scenario on it at once, audits the ledger."""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from okey.api.rating.v1 import rating_pb2
from okey.money.account import player_account
from okey.money.match import forfeit_price
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey_client import RpcFailure
from services.okeyctl import audit
from services.okeyctl.demo.platform import PlatformDidNotStart, StartedPlatform
from services.okeyctl.demo.player import Player
from services.okeyctl.demo.scenarios import FORFEIT, SCENARIOS, STAKE, Scenario
from services.okeyctl.demo.spectator import Say, Spectator

CLOCK_FACTOR: Final = 10
_TIMEOUT_S: Final = 170.0
_BOOKED_WITHIN_S: Final = 10.0
_LOOK_EVERY_S: Final = 0.1
_WELCOME_CHIPS: Final = 10_000
_NAMES: Final = ("Ayşe", "Mehmet", "Fatma", "Emre", "Zeynep", "Mustafa", "Elif", "Ahmet")


class DidNotHappen(Exception):
    """Something that the demo is to show was not seen; the message says what."""


async def run_demo(say: Say, scenarios: Sequence[Scenario] = SCENARIOS) -> None:
    """Show every scenario; returns only if all of it happened and the ledger is right.

    Nothing is left of it but, where something went wrong, its folder, with the services' logs.

    Raises:
        DidNotHappen: what did not.
        PlatformDidNotStart: there is no platform.
    """
    folder = Path(tempfile.mkdtemp(prefix="okey-demo-"))
    say(f"starting a platform in {folder}; its clocks run {CLOCK_FACTOR} times faster")
    try:
        await _show(folder, say, scenarios)
    except (DidNotHappen, PlatformDidNotStart) as error:
        raise type(error)(f"{error}; the services' logs are in {folder}") from error
    except asyncio.CancelledError:
        # Whoever interrupts twice does not wait for the platform's end, which writes there.
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder)


async def _show(folder: Path, say: Say, scenarios: Sequence[Scenario]) -> None:
    try:
        async with asyncio.timeout(_TIMEOUT_S), StartedPlatform(folder, CLOCK_FACTOR) as platform:
            say(f"ready: lobby {platform.state.address('lobby')}")
            await _Demo(platform, say).run(scenarios)
    except* TimeoutError as error:
        raise DidNotHappen(f"not done after {_TIMEOUT_S:.0f} s") from error
    except* (DidNotHappen, RpcFailure) as errors:
        raise DidNotHappen("; ".join(_reasons(errors))) from errors


class _Demo:
    def __init__(self, platform: StartedPlatform, say: Say) -> None:
        self._platform = platform
        self._say = say
        self._people = 0
        self._seen: Counter[str] = Counter()

    async def run(self, scenarios: Sequence[Scenario]) -> None:
        async with asyncio.TaskGroup() as group:
            for scenario in scenarios:
                group.create_task(self._play(scenario), name=scenario.title)
        await self._audit()
        self._say(
            f"shown: {', '.join(scenario.title for scenario in scenarios)}; "
            f"{self._seen['match_ended']} matches, {self._seen['round_dealt']} rounds, "
            f"{self._seen['turn_started']} turns, {self._people} players"
        )

    async def _play(self, scenario: Scenario) -> None:
        missing: list[str] = []
        for _ in range(scenario.tables):
            seen = await self._play_table(scenario)
            self._seen += seen
            missing = [kind for kind, least in scenario.expected.items() if seen[kind] < least]
            if not missing:
                self._say(f"[{scenario.title}] done")
                return
            self._say(f"[{scenario.title}] no {', '.join(missing)} at this table")
        raise DidNotHappen(f"{scenario.title}: no {', '.join(missing)} at {scenario.tables} tables")

    async def _play_table(self, scenario: Scenario) -> Counter[str]:
        async with AsyncExitStack() as stack:
            players = []
            for habits in scenario.habits:
                name = _NAMES[self._people % len(_NAMES)]
                self._people += 1
                player_id = f"player-{self._people}"
                client = await stack.enter_async_context(self._platform.client(player_id, name))
                players.append(Player(client, player_id, name, habits))
            table_id = await players[0].client.lobby.create_table(scenario.terms)
            watching = await stack.enter_async_context(self._platform.client("spectator"))
            spectator = Spectator(watching, scenario.title, self._say)
            async with asyncio.TaskGroup() as group:
                group.create_task(spectator.watch(table_id))
                for player in players[1:]:
                    await player.client.lobby.join_table(table_id)
                for player in players:
                    group.create_task(player.play(table_id))
            if scenario is FORFEIT and spectator.seen["seat_forfeited"]:
                await self._check_forfeit(players[1])
            return spectator.seen

    async def _check_forfeit(self, quitter: Player) -> None:
        """M9, R5: stake and penalty are paid, and 20 rating points."""
        price = STAKE + forfeit_price(STAKE, DEFAULT_RULE_SET)
        chips, points = _WELCOME_CHIPS, 0
        try:
            async with asyncio.timeout(_BOOKED_WITHIN_S):
                while chips != _WELCOME_CHIPS - price or points != -_PENALTY_MILLI:
                    await asyncio.sleep(_LOOK_EVERY_S)
                    chips = await quitter.client.wallet.balance_of(quitter.player_id)
                    ratings = await quitter.client.rating.of(quitter.player_id)
                    points = sum(map(_canak_change, ratings))
        except TimeoutError as error:
            raise DidNotHappen(
                f"{player_account(quitter.player_id)} gave up and has {chips} chips, "
                f"rating change {points / 1000}"
            ) from error
        self._say(f"[{FORFEIT.title}] {quitter.name} paid {price} chips and 20 rating points")

    async def _audit(self) -> None:
        wallet = self._platform.operator("wallet")
        audited = await audit.audit(wallet, [], lambda _: None, freeze=False)
        for line in audit.verdict(audited):
            self._say(f"audit: {line}")
        if audited.findings:
            raise DidNotHappen(f"the ledger is wrong: {audited.findings}")


_PENALTY_MILLI: Final = DEFAULT_RULE_SET.forfeit_milli_points


def _canak_change(rating: rating_pb2.Rating) -> int:
    """How far a Çanak rating is from where everybody starts, in milli-points; 0 for others."""
    is_canak = rating.ladder == rating_pb2.LADDER_CANAK
    return rating.rating_milli - DEFAULT_RULE_SET.rating_start if is_canak else 0


def _reasons(error: BaseException) -> list[str]:
    """Every reason in a group of errors, in words."""
    if isinstance(error, BaseExceptionGroup):
        return [reason for inner in error.exceptions for reason in _reasons(inner)]
    return [str(error) or type(error).__name__]
