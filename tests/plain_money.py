"""What a table's events come to in chips, in plain arithmetic: a second opinion on ``okey.money``.

It reads who sat down, gave up and won out of the events, and shares no code with the product's
settlement. The comments are the rules of ``docs/rules.md``, by which version 2026.12 is played.
"""

from collections import Counter
from collections.abc import Mapping

from okey.table import events as e
from okey.table.events import Event


class PlainBooks:
    """Every account of one table, by name, in chips."""

    def __init__(self, table_id: str, stake: int, *, is_canak: bool, is_esli: bool) -> None:
        self.table_id, self.stake = table_id, stake
        self.is_canak, self.is_esli = is_canak, is_esli
        self.chips: Counter[str] = Counter()
        self.held: dict[str, str] = {}
        self.payers: list[str | None] = []
        self.owners: list[str | None] = []
        self.share = self.pot = self.kasa = 0
        self.last_to_the_end: list[str] = []

    def welcome(self, chips: Mapping[str, int]) -> None:
        """Chips come from the issuance alone (M3)."""
        for player, amount in chips.items():
            self.chips[f"player:{player}"] += amount
            self.chips["system:issuance"] -= amount

    def take(self, event: Event) -> None:
        """Book what an event moves."""
        match event:
            case e.SeatRequested(_, player, hold_id):
                if self.chips[f"player:{player}"] >= self.stake:  # M1, M3
                    self.chips[f"player:{player}"] -= self.stake
                    self.held[hold_id] = player
            case e.SeatVacated(hold_id=hold_id) if hold_id in self.held:
                self.chips[f"player:{self.held.pop(hold_id)}"] += self.stake  # M1
            case e.MatchStartRequested(_, _, hold_ids):
                self.start(hold_ids)
            case e.SeatForfeited(_, seat, player):
                fine = min(self.stake // 2, self.chips[f"player:{player}"])  # M9
                self.chips[f"player:{player}"] -= fine
                self.chips["house:penalty"] += fine
                self.owners[seat] = None
            case e.MatchEnded():
                self.end(event)
                self.last_to_the_end = [owner for owner in self.owners if owner]
            case e.TableClosed():
                self.close()
            case _:
                pass

    def start(self, hold_ids: tuple[str, ...]) -> None:
        """M2, M7, W5: everybody's stake, the bot bank's for its seats; Ç2: a tenth to the kasa."""
        self.payers = [self.held.pop(hold_id) if hold_id else None for hold_id in hold_ids]
        self.owners = list(self.payers)
        self.chips["house:bot_bank"] -= self.stake * self.payers.count(None)
        total = self.stake * len(self.payers)
        self.share = total // 10 if self.is_canak else 0
        self.pot = total - self.share
        self.kasa += self.share

    def end(self, event: e.MatchEnded) -> None:
        """The pot goes to whom the outcome says."""
        kind, seats = event.kind.name, range(len(self.owners))
        if kind == "HOUSE_WIN":
            self.house_win()
        elif kind == "CANAK_WIN":
            side = [event.winner, (event.winner + 2) % 4] if self.is_esli else [event.winner]
            finish = event.finish.name if event.finish is not None else ""
            self.canak_win(side, finish)
        elif kind == "CANAK_DRAW":
            for seat in seats:  # Ç7
                self.pay(self.payers[seat], self.owners[seat], self.pot // len(seats))
            self.kasa += self.pot % len(seats)
        elif kind == "KLASIK_WIN":
            owner = self.owners[event.winner]
            assert owner is not None, "only people win while any is left (K9)"
            rake = self.pot // 10  # K7
            self.chips["house:rake"] += rake
            self.chips[f"player:{owner}"] += self.pot - rake
        else:
            share = self.pot // len(event.contending)  # K10
            for seat in event.contending:
                owner = self.owners[seat]
                assert owner is not None, "only people contend while any is left (K9)"
                self.chips[f"player:{owner}"] += share
            self.chips["house:unclaimed"] += self.pot - share * len(event.contending)
        self.pot = 0

    def house_win(self) -> None:
        """M8: the pot is the bot bank's, in Klasik less the rake (K7)."""
        assert not any(self.owners), "the house wins only where no person is left (M8)"
        rake = 0 if self.is_canak else self.pot // 10
        self.chips["house:rake"] += rake
        self.chips["house:bot_bank"] += self.pot - rake

    def pay(self, payer: str | None, owner: str | None, amount: int) -> None:
        """A seat's part of a drawn pot: its owner's, the bank's, or the kasa's (Ç7)."""
        if payer is None:
            self.chips["house:bot_bank"] += amount
        elif owner is None:
            self.kasa += amount
        else:
            self.chips[f"player:{owner}"] += amount

    def canak_win(self, side: list[int], finish: str) -> None:
        """Ç3..Ç5 and M6 for people; Ç11 for a side without them."""
        people = [owner for owner in (self.owners[seat] for seat in side) if owner]
        if not people:
            if any(self.payers[seat] is None for seat in side):
                self.chips["house:bot_bank"] += self.pot
            else:
                self.kasa += self.pot
            return
        prize = self.pot
        if finish != "NORMAL":
            prize, self.kasa = prize + self.kasa, 0
        if finish == "CIFT_OKEY":
            prize += self.stake // 2
            self.chips["house:bonus"] -= self.stake // 2
        for place, player in enumerate(people):
            odd = prize % len(people) if place == 0 else 0
            self.chips[f"player:{player}"] += prize // len(people) + odd

    def close(self) -> None:
        """Ç10: what is left in the kasa goes back to who played the last match to its end."""
        share = self.kasa // len(self.last_to_the_end) if self.last_to_the_end else 0
        for player in self.last_to_the_end:
            self.chips[f"player:{player}"] += share
        self.chips["house:unclaimed"] += self.kasa - share * len(self.last_to_the_end)
        self.kasa = 0
