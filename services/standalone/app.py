"""The only place where standalone's parts meet."""

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from okey_runtime.clock import SystemClock
from okey_runtime.dev_platform import DATA_DIR_VARIABLE, dev_key_file, make_dev_key
from okey_runtime.keys import make_chain_key
from okey_runtime.seal_keys import rotate_seal_keys
from services.standalone.banner import banner
from services.standalone.plan import (
    DATABASES,
    ChildPlan,
    chain_key_file,
    plan_children,
    seal_keys_file,
)
from services.standalone.ports import Ports, fixed_ports, free_ports
from services.standalone.postgres import ClusterPostgres
from services.standalone.shape import POSTGRES, Shape
from services.standalone.supervisor import Supervisor
from services.standalone.tokens import ServiceTokens
from services.standalone.view import Screen

_PRIVATE_UMASK: Final = 0o077
_CHUNK: Final = 4_096


class DataFolderInUse(Exception):
    """Another standalone runs with the same data folder."""


class DataFolderUnusable(Exception):
    """The data folder cannot be made or written to; the message says why."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: how many processes, an absolute data folder, free ports instead of the fixed
    ones, and whether to stop when stdin ends too, so that whoever started us need not be alive to
    stop us.
    """

    shape: Shape
    data_dir: Path
    has_free_ports: bool = False
    stops_with_stdin: bool = False


async def run_platform(options: Options, screen: Screen) -> None:
    """Run the platform until it is asked to stop: by SIGINT, SIGTERM, or as the options say.

    Raises:
        DataFolderInUse, DataFolderUnusable, PortTaken, ValkeyMissing, PostgresMissing,
        PostgresFailed, ChildEnded, ChildNotReady, KeyFileBroken: it cannot run; whatever was
        started has been stopped again.
    """
    # Tokens and databases are this user's own; children inherit it.
    os.umask(_PRIVATE_UMASK)
    with _held(options.data_dir):
        names, first = options.shape.names, options.shape.first_port
        ports = free_ports(names) if options.has_free_ports else fixed_ports(names, first)
        await _run(options.shape, options.data_dir, ports, _wish_to_stop(options), screen)


def _wish_to_stop(options: Options) -> asyncio.Event:
    asked_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked_to_stop.set)
    if options.stops_with_stdin:

        def on_input() -> None:
            if not os.read(sys.stdin.fileno(), _CHUNK):
                loop.remove_reader(sys.stdin.fileno())
                asked_to_stop.set()

        loop.add_reader(sys.stdin.fileno(), on_input)
    return asked_to_stop


async def _run(
    shape: Shape,
    data_dir: Path,
    ports: dict[str, Ports],
    asked_to_stop: asyncio.Event,
    screen: Screen,
) -> None:
    clock = SystemClock()
    tokens = ServiceTokens(make_dev_key(), data_dir / "tokens", clock)
    tokens.write()
    screen.say(f"starting {', '.join(shape.names)} ...")
    started_ms = clock.monotonic_ms()
    plans = await _plans(shape, data_dir, ports, tokens)
    supervisor = Supervisor(plans, data_dir, dev_key_file().absolute(), clock, screen.say)
    stopping = asyncio.create_task(asked_to_stop.wait())
    try:
        if await _first(stopping, asyncio.create_task(supervisor.start())):
            seconds = (clock.monotonic_ms() - started_ms) / 1000
            screen.say(banner(plans, data_dir, dev_key_file(), seconds, os.environ))
            renewing = asyncio.create_task(tokens.keep_fresh())
            showing = asyncio.create_task(screen.show(supervisor, clock))
            failing = asyncio.create_task(supervisor.failed())
            await _first(stopping, failing, renewing, showing)
        screen.say("stopping ...")
    finally:
        await supervisor.stop()
    screen.say("stopped")


async def _plans(
    shape: Shape, data_dir: Path, ports: dict[str, Ports], tokens: ServiceTokens
) -> list[ChildPlan]:
    """What runs; what several of them share is made beforehand."""
    if not seal_keys_file(data_dir).exists():
        rotate_seal_keys(seal_keys_file(data_dir))
    if not shape.has_postgres:
        return plan_children(shape, data_dir, ports, tokens, os.environ)
    postgres = ClusterPostgres(data_dir, ports[POSTGRES].serving)
    await asyncio.to_thread(postgres.prepare, DATABASES)
    if not chain_key_file(data_dir).exists():
        make_chain_key(chain_key_file(data_dir))
    return plan_children(shape, data_dir, ports, tokens, os.environ, postgres)


async def _first(stopping: "asyncio.Task[bool]", *work: "asyncio.Task[None]") -> bool:
    """Wait for the first of them; whether it was work that ended, and not the wish to stop.

    What the work raises is raised; work that has not ended is cancelled.
    """
    done, _ = await asyncio.wait([stopping, *work], return_when=asyncio.FIRST_COMPLETED)
    for task in work:
        if task in done:
            task.result()
        else:
            task.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    return stopping not in done


@contextmanager
def _held(data_dir: Path) -> Iterator[None]:
    """Make the folder and hold it for this process; the kernel frees it however that ends."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        lock = (data_dir / "lock").open("w")
    except OSError as error:
        raise DataFolderUnusable(
            f"{data_dir} cannot be the data folder ({error.strerror}: {error.filename}): name a "
            f"folder that you may write to with --data-dir or {DATA_DIR_VARIABLE}"
        ) from error
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataFolderInUse(
                f"a platform runs with {data_dir} already: stop it, or name another folder "
                "with --data-dir"
            ) from error
        yield
