"""What operators do to the tables of a world."""

from okey.table import commands as c
from services.engine.operators import Operators
from services.engine.voiding import Voiding
from services.engine.wallet_sink import WalletSink
from tests.unit.engine.world import (
    World,
)

END = c.VoidTable("olga", "it must not go on")
UNREADABLE = b"\xff\xff\xff"


def voiding(world: World) -> Voiding:
    wallet = WalletSink(world._wallet_channel)
    operators = Operators(world.database)
    return Voiding(world.interventions, world.journal, operators, wallet, world.steady)


async def reboot(world: World) -> None:
    await world.crash()
    await world.boot()
