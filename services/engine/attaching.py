"""The table of a stream that is opened here, also where it was given to this engine just now."""

from contextlib import suppress

from services.engine.actor import TableActor
from services.engine.errors import NotOwner
from services.engine.invites import Invites, Knock
from services.engine.routes import Routes


class Attaching:
    """Lets callers in; ``engine`` is this one."""

    def __init__(self, engine: str, invites: Invites, routes: Routes) -> None:
        self._engine = engine
        self._invites = invites
        self._routes = routes

    async def let_in(self, table_id: str, knock: Knock) -> TableActor:
        """The table, for whoever may see it.

        Raises ``NotOwner`` where another engine has it, or nobody, and what ``Invites`` does.
        """
        with suppress(NotOwner):
            return await self._invites.let_in(table_id, knock)
        # By the board that was read last: a newer one may say that we have it by now.
        owner = await self._routes.owner_of(table_id)
        if owner is None:
            raise NotOwner(table_id, "", "")
        if owner.engine != self._engine:
            raise NotOwner(table_id, owner.engine, owner.address)
        await self._routes.look()
        return await self._invites.let_in(table_id, knock)
