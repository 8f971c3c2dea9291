"""Which roles may call which method; a method that no table lists is refused to everybody."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from okey.errors import Forbidden
from okey_runtime.errors import ROLE_REFUSED, Unauthenticated
from okey_runtime.identity import Identity, Role


class Public(Enum):
    """Marks a method that needs no token."""

    PUBLIC = "public"


PUBLIC: Final = Public.PUBLIC
ANY_ROLE: Final = frozenset(Role)
"""Whoever has a valid token with at least one role."""


class TokenMissing(Unauthenticated):
    """A method that needs a caller was called without a token."""

    reason = "TOKEN_MISSING"


class RoleRefused(Forbidden):
    """The caller is known, but none of its roles may call this method."""

    reason = ROLE_REFUSED


class AccessTable:
    """Method by method, who may call, and what a call costs its caller's budget.

    Keys are full method names such as ``/okey.api.wallet.v1.WalletService/HoldStake``. A method
    costs 1, about a quarter of a millisecond of a core, where ``costs`` does not say otherwise.
    """

    def __init__(
        self,
        rules: Mapping[str, Iterable[Role] | Public],
        costs: Mapping[str, int] | None = None,
    ) -> None:
        for method in rules:
            if not (method.startswith("/") and method.count("/") == 2):
                raise ValueError(
                    f"{method!r} is no full method name: write '/package.Service/Method'"
                )
        self._rules: dict[str, frozenset[Role] | Public] = {
            method: rule if isinstance(rule, Public) else frozenset(rule)
            for method, rule in rules.items()
        }
        self._costs = dict(costs or {})
        if unknown := sorted(self._costs.keys() - self._rules.keys()):
            raise ValueError(f"{unknown} have a cost and no rule: list who may call them")

    @classmethod
    def of(
        cls,
        service: str,
        rules: Mapping[str, Iterable[Role] | Public],
        costs: Mapping[str, int] | None = None,
    ) -> "AccessTable":
        """The table of one service by short method names: ``of("okey.api.x.v1.XService", {"Get":
        {Role.PLAYER}}, {"Get": 5})``.
        """
        return cls(
            {f"/{service}/{method}": rule for method, rule in rules.items()},
            {f"/{service}/{method}": cost for method, cost in (costs or {}).items()},
        )

    def __or__(self, other: "AccessTable") -> "AccessTable":
        """Both tables together.

        Raises:
            ValueError: a method stands in both; one rule a method.
        """
        twice = self._rules.keys() & other._rules.keys()
        if twice:
            raise ValueError(f"{sorted(twice)} stand in both access tables: keep one rule a method")
        return AccessTable({**self._rules, **other._rules}, {**self._costs, **other._costs})

    def is_public(self, method: str) -> bool:
        """Whether the method is served without a token."""
        return self._rules.get(method) is PUBLIC

    def cost(self, method: str) -> int:
        """What a call of the method costs its caller's budget."""
        return self._costs.get(method, 1)

    def costs(self) -> Mapping[str, int]:
        """Every method that costs more than 1, sorted by name."""
        return dict(sorted(self._costs.items()))

    def check(self, method: str, identity: Identity | None) -> None:
        """Return if the caller may call the method.

        Raises:
            TokenMissing: the method needs a caller and there is none.
            RoleRefused: the caller has none of the method's roles, or the method is not listed.
        """
        rule = self._rules.get(method, frozenset[Role]())
        if isinstance(rule, Public):
            return
        if identity is None:
            raise TokenMissing(
                f"{method} needs a token: send metadata 'authorization: Bearer <token>'"
            )
        if not identity.has_any(rule):
            has = ", ".join(sorted(identity.roles)) or "none"
            needs = ", ".join(sorted(rule)) or "no role at all"
            raise RoleRefused(f"{method} is open to {needs}; the token's roles are {has}")

    def rules(self) -> Mapping[str, frozenset[Role] | Public]:
        """Every listed method with its rule, sorted by name."""
        return dict(sorted(self._rules.items()))


HEALTH: Final = AccessTable(
    {
        "/grpc.health.v1.Health/Check": PUBLIC,
        "/grpc.health.v1.Health/List": PUBLIC,
        "/grpc.health.v1.Health/Watch": PUBLIC,
    }
)
"""Health tells nothing about players or tables and is open on every service."""


def reflection_access(rule: Iterable[Role] | Public) -> AccessTable:
    """The table of gRPC reflection, which tells what the protos tell: who may ask."""
    return AccessTable(
        {
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo": rule
            for version in ("v1", "v1alpha")
        }
    )
