"""The attacker's process: ``python -m tests.attack.attacker NAME`` with an ``Aim`` as the first
line of its input. It says ``ready``, waits for a line, attacks, and prints what it has spent.

It runs at a low priority, so that its victims get the CPU that they ask for, and is not starved
by other programs of a busy machine.
"""

import asyncio
import json
import os
import resource
import sys
from contextlib import suppress
from dataclasses import fields
from typing import Final

from tests.attack.catalogue import CATALOGUE
from tests.attack.raid import Aim, Attack, Overspent, Raid

_NICE: Final = 10
_FILES: Final = 16_384
_STOP_WITHIN_S: Final = 2.0


async def _run(attack: Attack, aim: Aim) -> Raid:
    raid = Raid(aim)
    with suppress(Overspent, TimeoutError):
        async with asyncio.timeout(None) as bound:
            attacking = asyncio.create_task(attack(raid))
            while not attacking.done():
                await asyncio.wait({attacking}, timeout=0.2)
                if raid.has_begun and raid.is_over and bound.when() is None:
                    bound.reschedule(asyncio.get_running_loop().time() + _STOP_WITHIN_S)
            attacking.result()
    raid.close()
    return raid


def main() -> None:
    """Attack once."""
    os.nice(max(0, _NICE - os.nice(0)))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, hard), hard))
    aim = Aim(**json.loads(sys.stdin.readline()))
    raid = asyncio.run(_run(CATALOGUE[sys.argv[1]].attack(), aim))
    used = resource.getrusage(resource.RUSAGE_SELF)
    # Not by ``asdict``, which makes a Counter of a Counter's pairs.
    spent = {each.name: getattr(raid.spent, each.name) for each in fields(raid.spent)}
    spent["cpu_s"] = used.ru_utime + used.ru_stime
    sys.stdout.write(json.dumps(spent) + "\n")
    sys.stdout.flush()
    # Threads of gRPC and of the input's reader are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
