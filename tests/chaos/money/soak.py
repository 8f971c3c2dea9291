"""``make soak``: thousands of kill -9 of engine, wallet and PostgreSQL while money moves.

Bounded by a number of kills and by time, repeatable in what it chooses by its seed; every fifty
kills all tables end and everything is checked. A failure keeps the logs and says where they are.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.chaos.money.killing import kill_and_check, kill_at_random
from tests.chaos.money.load import Load
from tests.chaos.money.stand import standing
from tests.fixtures.postgres import PostgresServer

_CHECK_EVERY: Final = 50


async def soak(folder: Path, server: PostgresServer, kills: int, minutes: float, seed: int) -> int:
    """Kill so many processes, or until the time is over; how many were killed."""
    started_s = time.monotonic()
    async with standing(folder, server, random.Random(seed)) as stand:
        load = Load(stand)
        await load.start()
        while stand.kills < kills and time.monotonic() - started_s < 60 * minutes:
            some = min(_CHECK_EVERY, kills - stand.kills)
            journals = await kill_and_check(stand, load, kill_at_random(stand, some))
            seconds = time.monotonic() - started_s
            sys.stdout.write(
                f"{stand.kills}/{kills} kills ({stand.told()}), {len(load.tables)} tables, "
                f"{journals} journals, all there once; {seconds:.0f} s\n"
            )
            sys.stdout.flush()
        return stand.kills


def main() -> None:
    """Read the command line and soak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=2_000)
    parser.add_argument("--minutes", type=float, default=180.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="okey-soak-"))
    with tempfile.TemporaryDirectory(prefix="okey-pg-", dir="/tmp") as home:
        server = PostgresServer(Path(home))
        server.start()
        try:
            asyncio.run(soak(folder, server, given.kills, given.minutes, given.seed))
        except BaseException:
            sys.stderr.write(f"the seed was {given.seed}; logs and tokens are in {folder}\n")
            raise
        finally:
            server.stop("immediate")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
