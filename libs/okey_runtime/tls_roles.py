"""Which roles a certificate has, as text of a setting: ``lobby.okey=lobby,ops.okey=operator``."""

import re
from typing import Final

from okey_runtime.identity import SUBJECT_PATTERN, Role

_ENTRY: Final = re.compile(r"(?P<name>[^=,\s]+)=(?P<roles>[a-z]+(\+[a-z]+)*)")


class RolesMalformed(ValueError):
    """The text that says which certificate has which roles cannot be read."""


def parse_roles(text: str) -> dict[str, frozenset[Role]]:
    """``lobby.okey=lobby,ops.okey=operator+integrator`` as a mapping.

    Raises:
        RolesMalformed: it reads otherwise, or makes a player of a certificate.
    """
    found: dict[str, frozenset[Role]] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        read = _ENTRY.fullmatch(entry)
        roles = set(read["roles"].split("+")) if read else set()
        unknown = roles - set(Role)
        if read is None or unknown or not SUBJECT_PATTERN.fullmatch(read["name"]):
            raise RolesMalformed(
                f"{entry!r} is no '<DNS name>=<role>[+<role>]'; roles: {', '.join(Role)}"
            )
        if Role.PLAYER in roles:
            raise RolesMalformed(f"{entry!r}: a certificate is never a player; players have tokens")
        found[read["name"]] = frozenset(map(Role, roles))
    return found
