"""The strong bot: every choice by what it is expected to bring.

What a hand will bring is the chance that it finishes first (``chances``) times what that finish
pays (``prizes``). Answers come as a series that only gets better, so that whoever has no more time
takes the last one: the first costs about a millisecond, those that look ahead some tens.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from okey.bots.ahead import share_to_come, waits_to_come
from okey.bots.chances import Chances, Company, chances_in, next_turn, shifted
from okey.bots.discard import lot
from okey.bots.evaluate import Evaluation, Goal, distance_to, evaluate
from okey.bots.gift import gift
from okey.bots.outlook import Outlook
from okey.bots.prizes import Prizes, prizes
from okey.bots.shape import shape_of
from okey.rules.finish import FinishKind, FinishRejected, judge_finish
from okey.rules.tile import Tile, without
from okey.rules.variant import Mode
from okey.table.commands import (
    Action,
    AnnounceCift,
    Discard,
    Draw,
    DrawSource,
    Finish,
    ShowGosterge,
    WithdrawCift,
)
from okey.table.legal import LegalAction
from okey.table.view import RoundView, SeatView, TableView

_SHAPE: Final = (0.0, 0.04, 0.06, 0.12)
"""By distance, later as the last: how much more of a share a better shape makes, a unit of it."""

_WORST_HOPE: Final = 3
"""Further from seven pairs than this nobody considers announcing them."""

_TO_COME: Final = (0.0, 0.0, 7.0, 6.0, 5.0)
"""By distance, from two on: what a share of 1 counts, in log-odds, to which a hand comes once it is
nearer. Further away than these nearly every tile improves a hand.
"""

_FROM_THE_PILE: Final = 0.75
"""How many tiles a turn there are to choose from, besides the one of the stock."""

_CLOSE: Final = 0.7
_LOOKED_AT: Final = 4
"""Of the options that have this part of the best one's chance so many are looked at further."""

_STOCK: Final = Draw(DrawSource.STOCK)
_PILE: Final = Draw(DrawSource.DISCARD)


def strong_answers(view: TableView, outlook: Outlook, seed: int) -> Iterator[Action]:
    """The strong bot's answers in its turn, each better than the one before; at least one."""
    assert view.round is not None, "an outlook has a round"
    legal = frozenset(view.legal_actions)
    mind = _Mind(outlook, legal, prizes(view, view.round), view, view.round, seed)
    if LegalAction.SHOW_GOSTERGE in legal and outlook.gosterge in outlook.rack:
        yield ShowGosterge()
    elif LegalAction.DISCARD in legal:
        yield from mind.with_fifteen()
    else:
        yield from mind.before_the_draw()


@dataclass(frozen=True)
class _Prospect:
    """A tile to give away, and the chance that the 14 that stay finish first, on one way."""

    tile: Tile
    chance: float
    goal: Goal
    rest: tuple[Tile, ...]
    waits: Evaluation


@dataclass(frozen=True)
class _Mind:
    """One seat's thoughts in its turn."""

    outlook: Outlook
    legal: frozenset[LegalAction]
    prizes: Prizes
    view: TableView
    played: RoundView
    seed: int

    @cached_property
    def company(self) -> Company:
        """Who else plays the round."""
        others = len(self.played.playing) - 1
        partners = 1 if self.view.config.mode is Mode.ESLI else 0
        return Company(others - partners, partners)

    @cached_property
    def unseen(self) -> int:
        """How many tiles one has not seen."""
        return max(1, sum(self.outlook.unseen))

    @property
    def turn(self) -> int:
        """The number of this turn among one's own."""
        return self.played.own_turns

    @property
    def next_player(self) -> SeatView:
        """Who alone can pick a discard up."""
        playing = self.played.playing
        following = playing[(playing.index(self.view.viewer) + 1) % len(playing)]
        return self.view.seats[following]

    def before_the_draw(self) -> Iterator[Action]:
        """Where to draw from: first by distance, then by what the hands after it would bring."""
        rack, tile = self.outlook.rack, self.outlook.takeable
        if LegalAction.DRAW_STOCK not in self.legal:
            yield _PILE
            return
        if tile is None or LegalAction.DRAW_DISCARD not in self.legal:
            yield _STOCK
            return
        goal = self._goal(announced=self.outlook.has_announced)
        now, after = (
            distance_to(tiles, self.outlook.okey, goal) for tiles in (rack, (*rack, tile))
        )
        if now == 0:
            # It waits for an okey win, and the tile makes one or does not.
            yield _PILE if self._wins_by_okey((*rack, tile), goal) else _STOCK
            return
        yield _PILE if after < now or tile is self.outlook.okey else _STOCK
        if after > 0 and tile is not self.outlook.okey:
            yield _PILE if self._is_worth_taking(tile) else _STOCK

    def with_fifteen(self) -> Iterator[Action]:
        """What to do with 15 tiles: finish, announce, take that back, or discard."""
        declared = self._finish() or self._declaration()
        if isinstance(declared, Finish):
            yield declared
            later = self._okey_win_later(declared)
            if later is not None:
                yield later
        elif declared is not None:
            yield declared
        else:
            yield from self._discards()

    def _discards(self) -> Iterator[Discard]:
        """What to give away: first by the hand that stays, then by what that may come to."""
        options: list[tuple[float, _Prospect]] = []
        best = 0.0
        for option in self._prospects(self.outlook.rack, announced=self.outlook.has_announced):
            minded = self._mindful_of_the_gift(option)
            if not options or minded > best:
                best = minded
                yield Discard(option.tile)
            options.append((minded, option))
        options.sort(key=lambda each: -each[0])
        if options[0][1].goal is Goal.NORMAL:
            close = [each for minded, each in options if minded > best * _CLOSE]
            yield from self._ahead([each for each in close if each.goal is Goal.NORMAL])

    def _ahead(self, options: Sequence[_Prospect]) -> Iterator[Discard]:
        """The same for these, the best few, by what the next draws bring."""
        if len(options) < 2 or options[0].waits.distance >= len(_TO_COME):
            return
        best: tuple[float, Discard] | None = None
        for option in options[:_LOOKED_AT]:
            minded = self._mindful_of_the_gift(replace(option, chance=self._looking_ahead(option)))
            if best is None or minded > best[0]:
                best = minded, Discard(option.tile)
            # The same again counts too: whoever asks gets his turn after each.
            yield best[1]

    def _looking_ahead(self, option: _Prospect) -> float:
        """One tile from a finish the mean over every draw, each with the best discard after it;
        before that the share that the hand comes to with the tiles that improve it.
        """
        if option.waits.distance == 1:
            return self._by_every_draw(option)
        outlook = self.outlook
        to_come = share_to_come(option.rest, option.waits, outlook.okey, outlook.unseen)
        return shifted(option.chance, _TO_COME[option.waits.distance] * to_come)

    def _by_every_draw(self, option: _Prospect) -> float:
        """The chance to finish first with 14 tiles that wait for the last one, or for a better
        wait.
        """
        unseen, chances = self.outlook.unseen, self._chances(Goal.NORMAL)
        after = [
            (unseen[tile] / self.unseen, chances.waiting(1, copies / self.unseen, self.turn + 1))
            for tile, copies in waits_to_come(option.rest, option.waits, self.outlook.okey, unseen)
        ]
        finishing = option.waits.copies / self.unseen
        mean = finishing + sum(part * chance for part, chance in after)
        # A tile of the pile is only taken where it is worth more than one of the stock.
        chosen = finishing + sum(part * max(chance, mean) for part, chance in after)
        return chances.once_others_moved(mean + _FROM_THE_PILE * (chosen - mean), self.turn)

    def _goal(self, *, announced: bool) -> Goal:
        return Goal.CIFT if announced else Goal.EITHER

    def _ways(self, tiles: Sequence[Tile], *, announced: bool) -> tuple[Goal, ...]:
        """What to play for: both forms as long as one is not bound and pairs are not far (H13).

        Each is judged by itself: what is nearer to pairs need not be likelier to finish, for a lone
        tile waits for its twin alone.
        """
        if announced:
            return (Goal.CIFT,)
        is_far = distance_to(tiles, self.outlook.okey, Goal.CIFT) > _WORST_HOPE
        return (Goal.NORMAL,) if is_far else (Goal.NORMAL, Goal.CIFT)

    def _prize(self, *, announced: bool) -> float:
        """What the plain finish pays; a unit where that is nothing, so that hands still compare."""
        return self.prizes[FinishKind.CIFT if announced else FinishKind.NORMAL] or 1.0

    def _chances(self, goal: Goal) -> Chances:
        return chances_in(self.company, is_cift=goal is Goal.CIFT)

    def _finish(self) -> Finish | AnnounceCift | None:
        """The finish that pays most now; çift announced first where it then pays more."""
        if LegalAction.FINISH not in self.legal:
            return None
        announced = self.outlook.has_announced
        best = self._best_finish(announced=announced)
        if LegalAction.ANNOUNCE_CIFT in self.legal and not announced:
            cift = self._best_finish(announced=True)
            if cift is not None and (best is None or cift[0] > best[0]):
                return AnnounceCift()
        return None if best is None else best[1]

    def _best_finish(self, *, announced: bool) -> tuple[float, Finish] | None:
        """The finish that pays most, with its prize; none that pays nothing."""
        rack, okey = self.outlook.rack, self.outlook.okey
        if distance_to(rack, okey, self._goal(announced=announced)) > 0:
            return None
        best: tuple[float, Finish] | None = None
        for laid in sorted(set(rack), key=lambda tile: (tile is not okey, tile)):
            try:
                prize = self.prizes[judge_finish(rack, laid, okey, announced=announced)]
            except FinishRejected:
                continue
            if prize > (0.0 if best is None else best[0]):
                best = prize, Finish(laid)
        return best

    def _okey_win_later(self, finish: Finish) -> Discard | None:
        """Instead of finishing now: a discard that lets the okey be laid soon, if that brings
        more (H9).
        """
        okey, announced = self.outlook.okey, self.outlook.has_announced
        by_okey = self.prizes[FinishKind.CIFT_OKEY if announced else FinishKind.OKEY]
        goal = self._goal(announced=announced)
        now = self._prize(announced=announced)
        if finish.tile is okey or okey not in self.outlook.rack or by_okey <= now:
            return None
        undisturbed = self._chances(goal).undisturbed(self.turn)
        best, better = now, None
        for tile in sorted(set(self.outlook.rack) - {okey}):
            rest = without(self.outlook.rack, (tile,))
            if distance_to(rest, okey, goal) == 0:
                comes = next_turn(self._share_for_okey_win(rest, goal), is_last=True)
                worth = undisturbed * (comes * by_okey + (1 - comes) * now)
                if worth > best:
                    best, better = worth, Discard(tile)
        return better

    def _share_for_okey_win(self, rest: Sequence[Tile], goal: Goal) -> float:
        copies = sum(
            self.outlook.unseen[tile]
            for tile in Tile
            if self.outlook.unseen[tile] and self._wins_by_okey((*rest, tile), goal)
        )
        return copies / self.unseen

    def _wins_by_okey(self, rack: Sequence[Tile], goal: Goal) -> bool:
        okey = self.outlook.okey
        return okey in rack and distance_to(without(rack, (okey,)), okey, goal) == 0

    def _declaration(self) -> AnnounceCift | WithdrawCift | None:
        """Çift in the last turn in which it can be announced, or taken back, if that brings more;
        until then nobody has to know (H10, H11).
        """
        announced = self.outlook.has_announced
        if LegalAction.WITHDRAW_CIFT in self.legal and announced:
            return WithdrawCift() if self._gain_of_cift() < 0 else None
        is_last = self.turn >= self.view.config.rules.cift_announce_turns
        if announced or LegalAction.ANNOUNCE_CIFT not in self.legal or not is_last:
            return None
        if distance_to(self.outlook.rack, self.outlook.okey, Goal.CIFT) > _WORST_HOPE:
            return None
        return AnnounceCift() if self._gain_of_cift() > 0 else None

    def _gain_of_cift(self) -> float:
        """What more these 15 tiles are expected to bring with çift announced than without."""
        return self._brings(announced=True) - self._brings(announced=False)

    def _brings(self, *, announced: bool) -> float:
        """What these 15 tiles are expected to bring with çift announced, or without."""
        rack, prize = self.outlook.rack, self._prize(announced=announced)
        if distance_to(rack, self.outlook.okey, self._goal(announced=announced)) == 0:
            return prize
        return prize * max(option.chance for option in self._prospects(rack, announced=announced))

    def _is_worth_taking(self, tile: Tile) -> bool:
        """Whether the hand with the pile's tile brings more than a draw from the stock."""
        rack, announced = self.outlook.rack, self.outlook.has_announced
        by_stock = max(self._drawing(goal) for goal in self._ways(rack, announced=announced))
        best = max(
            self._prospects((*rack, tile), announced=announced), key=lambda option: option.chance
        )
        return best.tile is not tile and best.chance > by_stock

    def _drawing(self, goal: Goal) -> float:
        """The chance to finish first, this way, with a draw from the stock."""
        hand = evaluate(self.outlook.rack, self.outlook.okey, goal, self.outlook.unseen)
        return self._chances(goal).drawing(hand.distance, hand.copies / self.unseen, self.turn)

    def _mindful_of_the_gift(self, option: _Prospect) -> float:
        """What the option leaves once the next player has been given the tile."""
        cost = gift(option.tile, self.outlook, self.view.seats[self.view.viewer], self.next_player)
        return shifted(option.chance, -cost / self.company.opponents)

    def _prospects(self, rack: Sequence[Tile], *, announced: bool) -> Iterator[_Prospect]:
        """What each discard that keeps the rack as near as it is would leave, on each way."""
        for goal in self._ways(rack, announced=announced):
            yield from self._prospects_of(rack, goal)

    def _prospects_of(self, rack: Sequence[Tile], goal: Goal) -> Iterator[_Prospect]:
        """One way's, the most useless tile first; okeys are kept while there is another tile."""
        okey = self.outlook.okey
        near = distance_to(rack, okey, goal)
        # No okey is given away: by T5 it always keeps the hand as near as any other tile would.
        options = [
            (tile, rest)
            for tile in sorted(set(rack) - {okey}) or [okey]
            if distance_to(rest := without(rack, (tile,)), okey, goal) == near
        ]
        shape = {
            tile: 0.0 if goal is Goal.CIFT else shape_of(rest, okey, self.outlook.unseen)
            for tile, rest in options
        }
        best = max(shape.values())
        weight = _SHAPE[min(near, len(_SHAPE) - 1)]
        options.sort(key=lambda option: (-shape[option[0]], lot(self.seed, option[0])))
        for tile, rest in options:
            waits = evaluate(rest, okey, goal, self.outlook.unseen)
            share = waits.copies / self.unseen * math.exp(weight * (shape[tile] - best))
            chance = self._chances(goal).waiting(near, share, self.turn)
            yield _Prospect(tile, chance, goal, rest, waits)
