"""What the wallet knows about one staked match: who paid, who still owns a seat, pot and kasa."""

from dataclasses import dataclass, replace

from okey.errors import InvalidInput, Refused
from okey.money.account import Account, kasa_account, pot_account
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, Variant


class MalformedMatch(InvalidInput):
    """Seats, mode, stake or kasa that no match can have."""

    reason = "MALFORMED_MATCH"


class SeatNotOwned(Refused):
    """A seat that no person owns, so that nobody can give it up (M9)."""

    reason = "SEAT_NOT_OWNED"


@dataclass(frozen=True, slots=True)
class SeatMoney:
    """One seat: ``payer`` paid its stake, ``owner`` has it now; None is the house.

    A solo or fill-in bot's seat is ``SeatMoney(None, None)`` (M7, W5), a given-up one keeps its
    payer (M9).
    """

    payer: str | None
    owner: str | None

    def __post_init__(self) -> None:
        if self.owner is not None and self.owner != self.payer:
            raise MalformedMatch(
                f"{self.owner!r} owns a seat that {self.payer!r} paid: "
                "a seat is its payer's or the house's"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchMoney:
    """The money of a running match; all amounts in chips.

    ``kasa`` is the table's whole kasa with this match's ``kasa_share`` in it; both are 0 in Klasik.
    """

    table_id: str
    match_id: str
    variant: Variant
    mode: Mode
    stake: int
    seats: tuple[SeatMoney, ...]
    kasa: int
    kasa_share: int

    def __post_init__(self) -> None:
        if len(self.seats) not in (2, 4) or (self.mode is Mode.ESLI and len(self.seats) != 4):
            raise MalformedMatch(
                f"a {self.mode.name} match has {len(self.seats)} seats (Ç0, K1, O2)"
            )
        if self.variant is Variant.KLASIK and (self.mode is not Mode.NORMAL or self.kasa):
            raise MalformedMatch(f"Klasik knows no {self.mode.name} mode and no kasa (K1, K7)")
        if self.stake <= 0 or not 0 <= self.kasa_share <= self.kasa:
            raise MalformedMatch(
                f"stake {self.stake}, kasa {self.kasa} and share {self.kasa_share} do not fit (Ç2)"
            )
        people = [seat.payer for seat in self.seats if seat.payer is not None]
        if not people or len(set(people)) < len(people):
            raise MalformedMatch(f"the payers {people} are not one or more different people (W3)")

    @classmethod
    def opening(
        cls,
        *,
        table_id: str,
        match_id: str,
        variant: Variant,
        mode: Mode,
        stake: int,
        payers: tuple[str | None, ...],
        kasa_before: int,
        rules: RuleSet,
    ) -> "MatchMoney":
        """The match as it starts: every seat its payer's, the kasa share in the kasa (Ç2)."""
        share = kasa_share_of(variant, stake, len(payers), rules)
        return cls(
            table_id=table_id,
            match_id=match_id,
            variant=variant,
            mode=mode,
            stake=stake,
            seats=tuple(SeatMoney(payer, payer) for payer in payers),
            kasa=kasa_before + share,
            kasa_share=share,
        )

    @property
    def pot(self) -> int:
        """What the match is played for: all stakes without the kasa's share."""
        return self.stake * len(self.seats) - self.kasa_share

    @property
    def pot_account(self) -> Account:
        """The account that holds the pot."""
        return pot_account(self.match_id)

    @property
    def kasa_account(self) -> Account:
        """The account that holds the table's kasa."""
        return kasa_account(self.table_id)

    def owner(self, seat: int) -> str | None:
        """Who owns the seat now; None is the house. Raises ``MalformedMatch`` for no such seat."""
        if not 0 <= seat < len(self.seats):
            raise MalformedMatch(f"seat {seat} is none of 0..{len(self.seats) - 1}")
        return self.seats[seat].owner

    def person_at(self, seat: int) -> str:
        """The player who owns the seat. Raises ``SeatNotOwned`` where it is the house's."""
        owner = self.owner(seat)
        if owner is None:
            raise SeatNotOwned(
                f"seat {seat} of {self.match_id} is the house's: nobody can give it up (M9)"
            )
        return owner

    def stayed(self) -> tuple[str, ...]:
        """The people who still own their seats, in seat order."""
        return tuple(seat.owner for seat in self.seats if seat.owner is not None)

    def given_up(self, seat: int) -> "MatchMoney":
        """The match after this seat went to the house (M9). Raises ``SeatNotOwned``."""
        seats = list(self.seats)
        seats[seat] = SeatMoney(self.person_at(seat), None)
        return replace(self, seats=tuple(seats))


def kasa_share_of(variant: Variant, stake: int, seats: int, rules: RuleSet) -> int:
    """Ç2: what a match brings the kasa, floor(total x kasa_percent / 100); 0 in Klasik (K7)."""
    return stake * seats * rules.kasa_percent // 100 if variant is Variant.CANAK else 0


def pot_of(variant: Variant, stake: int, seats: int, rules: RuleSet) -> int:
    """Ç2, K7: the pot in chips; in Klasik the rake is still in it."""
    return stake * seats - kasa_share_of(variant, stake, seats, rules)


def rake_of(pot: int, rules: RuleSet) -> int:
    """K7: the house's cut of a Klasik pot, floor(pot x rake_percent / 100) chips."""
    return pot * rules.rake_percent // 100


def bonus_of(stake: int, rules: RuleSet) -> int:
    """Ç5: what the house adds to an okey win with announced çift, floor(stake x percent / 100)."""
    return stake * rules.bonus_percent // 100


def forfeit_price(stake: int, rules: RuleSet) -> int:
    """M9: the penalty for giving up, floor(stake x forfeit_percent / 100), besides the stake."""
    return stake * rules.forfeit_percent // 100


def joining_price(stake: int, rules: RuleSet) -> int:
    """M1, M9: what joining asks for: the stake; with ``forfeit_stake_reserve`` the penalty too."""
    return stake + (forfeit_price(stake, rules) if rules.forfeit_stake_reserve else 0)
