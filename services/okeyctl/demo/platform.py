"""A platform started for a while, by its own command, with its own key, on free loopback ports."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from joserfc.jwk import OKPKey

from okey_client import OkeyClient, RetryPolicy
from okey_runtime.auth import Role, load_signing_key
from okey_runtime.dev_platform import DATA_DIR_VARIABLE, DevPlatform, PlatformNotRunning
from okey_runtime.service_token import fixed_token
from services.okeyctl.reach import TTL_MS, Reach, dev_token

_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.05
# A service that has died is back within a few seconds; nobody need notice.
_PATIENT: Final = RetryPolicy(tries=30, last_pause_ms=1_000)


class PlatformDidNotStart(Exception):
    """Standalone ended, or is not ready in time; the message is what it has said."""


class StartedPlatform:
    """``async with StartedPlatform(folder)`` runs it; data, key and logs are below ``folder``.

    ``clock_factor`` makes every clock of every table run that many times faster; production refuses
    such a setting. With ``is_cluster`` there are several of each service, on one PostgreSQL. The
    platform stops when we end, however we end.
    """

    def __init__(self, folder: Path, clock_factor: int = 1, *, is_cluster: bool = False) -> None:
        self._is_cluster = is_cluster
        self.data_dir: Final = folder / "data"
        self._state_home = folder / "state"
        self._output = folder / "standalone.log"
        self._clock_factor = clock_factor
        self._process: Process | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start it and return once it is ready.

        Raises:
            PlatformDidNotStart: it is not.
        """
        options = ["--free-ports", "--stop-with-stdin", "--data-dir", str(self.data_dir)]
        options += ["--cluster"] if self._is_cluster else []
        with self._output.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "services.standalone", *options),
                env={**os.environ, **self._environment()},
                stdin=PIPE,
                stdout=output,
                stderr=output,
            )
        try:
            await self.until(lambda state: state.is_ready)
        except TimeoutError as error:
            await self.stop()
            raise PlatformDidNotStart(self.output()) from error
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def until(self, is_so: Callable[[DevPlatform], bool]) -> None:
        """Return once the state file says so.

        Raises:
            PlatformDidNotStart: standalone has ended instead.
            TimeoutError: neither happened in a minute.
        """
        assert self._process is not None, "started before it is waited for"
        async with asyncio.timeout(_START_TIMEOUT_S):
            while not self._is(is_so):
                if self._process.returncode is not None:
                    raise PlatformDidNotStart(self.output())
                await asyncio.sleep(_LOOK_EVERY_S)

    async def stop(self) -> int:
        """Stop it in peace; its exit status."""
        process = self._process
        assert process is not None, "started before it is stopped"
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                return await process.wait()
        except TimeoutError:
            process.kill()
            return await process.wait()

    @property
    def pid(self) -> int:
        """Standalone's own process id."""
        return self.state.pid

    @property
    def state(self) -> DevPlatform:
        """Where everything is at this moment. Raises ``PlatformNotRunning``."""
        return DevPlatform.find(self.data_dir)

    def output(self) -> str:
        """What standalone has said so far."""
        return self._output.read_text(errors="replace")

    def token(
        self,
        subject: str,
        roles: Iterable[Role] = (Role.PLAYER,),
        name: str = "",
        ttl_ms: int = TTL_MS,
        callee: str = "",
    ) -> str:
        """A token that this platform takes; that of an operator or a service for ``callee``."""
        return dev_token(self._key(), subject, roles, name, ttl_ms, callee)

    def environment_of_callers(self) -> dict[str, str]:
        """The variables with which `okeyctl` finds this platform and the key of its tokens."""
        return {"XDG_STATE_HOME": str(self._state_home), DATA_DIR_VARIABLE: str(self.data_dir)}

    def client(self, subject: str, name: str = "") -> OkeyClient:
        """A client with an identity and a token of its own."""
        token = self.token(subject, name=name)
        state = self.state
        return OkeyClient(
            token_provider=lambda: token,
            lobby_address=state.address("lobby"),
            engine_address=state.address("engine"),
            wallet_address=state.address("wallet"),
            rating_address=state.address("rating"),
            policy=_PATIENT,
        )

    def operator(self, service: str) -> Reach:
        """The way to a service as an operator."""
        token = fixed_token(self.token("operator", [Role.OPERATOR], callee=service))
        return Reach(self.state.address(service), token)

    def _is(self, is_so: Callable[[DevPlatform], bool]) -> bool:
        try:
            return is_so(self.state)
        except PlatformNotRunning:
            return False

    def _key(self) -> OKPKey:
        return load_signing_key(self.state.key_file)

    def _environment(self) -> dict[str, str]:
        own = {"XDG_STATE_HOME": str(self._state_home)}
        if self._clock_factor != 1:
            own["OKEY_CLOCK_FACTOR"] = str(self._clock_factor)
        return own
