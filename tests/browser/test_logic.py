"""The page's pure modules against the documents and the library."""

import random
import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from okey.rules.deal import DealContext, commit, deal, shuffle
from okey_runtime.identity import display_name
from tests.browser.logic import PAGE, Modules, modules_of_the_page

pytestmark = pytest.mark.system

ROW = 14


@pytest.fixture(scope="module")
async def modules(browser: Browser) -> AsyncIterator[Modules]:
    async with modules_of_the_page(browser) as modules:
        yield modules


DEAL = """async (m, given) => {
    const bytes = (list) => Uint8Array.from(list);
    const seed = bytes(given.seed);
    const deck = await m.shuffle({...given, seed, nonces: given.nonces.map(bytes)});
    const deal = m.dealOut(deck.tiles, given.nonces.length, given.playing, given.starter);
    return {...deck, ...deal, commitment: [...await m.commitmentOf(seed)]};
}"""


@pytest.mark.parametrize("number", range(12))
async def test_the_browser_rebuilds_the_deal_of_the_library(modules: Modules, number: int) -> None:
    """T9, T7: dealer, gösterge, racks and stock, with silent seats and seats that watch."""
    chance = random.Random(number)
    seats = chance.choice([2, 4])
    playing = sorted(chance.sample(range(seats), chance.randint(2, seats)))
    starter = chance.choice(playing)
    seed = chance.randbytes(32)
    nonces = tuple(chance.choice([b"", chance.randbytes(32)]) for _ in range(seats))
    context = DealContext("abcdefghijklmnopqrstuvwxyz", number + 1, 11, nonces)
    given = {
        "seed": list(seed),
        "tableId": context.table_id,
        "matchNo": context.match_no,
        "roundNo": context.round_no,
        "nonces": [list(nonce) for nonce in nonces],
        "playing": playing,
        "starter": starter,
    }
    found = await modules("core/deal.js", DEAL, given)
    deck = shuffle(seed, context)
    dealt = deal(deck, tuple(playing), starter)
    assert bytes(found["commitment"]) == commit(seed)
    assert found["firstDealer"] == deck.first_dealer
    assert found["gosterge"] == str(deck.gosterge)
    assert found["racks"] == [[str(tile) for tile in rack] for rack in dealt.racks]
    assert found["stock"] == [str(tile) for tile in dealt.stock]


async def test_a_wrong_seed_or_tile_is_told(modules: Modules) -> None:
    """T9: another seed, gösterge, rack or drawn tile than the derived one is marked as wrong."""
    check = """async (m, wrong) => {
        const nonces = [new Uint8Array(0), new Uint8Array(0)];
        const [tableId, matchNo, roundNo] = ["abcdefghijklmnopqrstuvwxyz", 1, 1];
        const seed = Uint8Array.from({length: 32}, (_, n) => n);
        const deck = await m.shuffle({seed, tableId, matchNo, roundNo, nonces});
        const deal = m.dealOut(deck.tiles, 2, [0, 1], 0);
        const commitment = await m.commitmentOf(seed);
        const round = {tableId, matchNo, roundNo, seed, nonces, commitment, playing: [0, 1],
            starter: 0, dealer: deck.firstDealer, gosterge: deck.gosterge, ...deal,
            drawn: deal.stock.slice(0, 3)};
        if (wrong === "commitment") round.commitment = commitment.toReversed();
        if (wrong === "gosterge") round.gosterge = "R1";
        if (wrong === "racks") round.racks = deal.racks.toReversed();
        if (wrong === "stock") round.stock = deal.stock.toReversed();
        if (wrong === "dealer") round.dealer = 1 - deck.firstDealer;
        if (wrong === "draws") round.drawn = deal.stock.slice(1, 3);
        const lines = await m.checkDeal(round);
        return lines.filter((line) => !line.isRight).map((line) => line.line);
    }"""
    assert await modules("core/deal.js", check, "nothing") == []
    for wrong in ("commitment", "gosterge", "racks", "stock", "dealer", "draws"):
        assert await modules("core/deal.js", check, wrong) == [wrong]


@pytest.mark.parametrize("number", range(8))
async def test_the_rack_keeps_every_tile_and_its_place(modules: Modules, number: int) -> None:
    """Drawn and discarded tiles come and go; all others lie where the player put them."""
    walk = """(m, seed) => {
        let state = seed * 7919 + 1;
        const below = (n) => (state = (state * 48271) % 2147483647) % n;
        const any = () => "RYBK"[below(4)] + (1 + below(13));
        let tiles = Array.from({length: 14}, any);
        let slots = m.reconcile(m.emptyRack(), tiles);
        const wrong = [];
        const same = (rack) => rack.filter(Boolean).sort().join() === [...tiles].sort().join();
        for (let step = 0; step < 300; step += 1) {
            slots = m.move(slots, below(m.SLOTS), below(m.SLOTS));
            if (!same(slots)) wrong.push("move");
            const before = slots;
            const held = slots.map((tile, slot) => [tile, slot]).filter(([tile]) => tile);
            const gone = held[below(14)];
            tiles = [...tiles];
            tiles.splice(tiles.indexOf(gone[0]), 1);
            slots = m.reconcile(slots, tiles, {from: gone[1]});
            if (slots.some((tile, slot) => slot !== gone[1] && tile !== before[slot]))
                wrong.push("gone");
            tiles = [...tiles, any()];
            const left = slots;
            slots = m.reconcile(slots, tiles);
            if (left.some((tile, slot) => tile && tile !== slots[slot])) wrong.push("came");
            if (!same(slots)) wrong.push("kept");
        }
        for (const sort of [m.groupsByColour, m.groupsByNumber, m.groupsByPairs])
            if (!same(m.pack(sort(tiles, "R5")))) wrong.push("sorted");
        return wrong;
    }"""
    assert await modules("core/rack.js", walk, number) == []


async def test_an_occupied_place_makes_room(modules: Modules) -> None:
    """Its neighbours shift towards the next gap; in a full row the two tiles change places."""
    shown = """(m, tiles, from, to) => {
        const slots = m.emptyRack();
        tiles.forEach((tile, slot) => { slots[slot] = tile; });
        return m.move(slots, from, to);
    }"""
    row = [f"R{number}" for number in range(1, 4)]
    moved = await modules("core/rack.js", shown, [*row, None, "K1"], 4, 1)
    assert moved[:5] == ["R1", "K1", "R2", "R3", None]
    full = [f"B{number}" for number in range(1, 14)] + ["Y1"]
    moved = await modules("core/rack.js", shown, [*full, "K1"], ROW, 3)
    assert (moved[3], moved[ROW]) == ("K1", "B4")


async def test_clocks_follow_the_message_that_travelled_least(modules: Modules) -> None:
    """A message that came late tells an older time than it is; it must not set the clock back."""
    clock = """(m, heard) => {
        let now = 0;
        const clock = new m.ServerClock(() => now);
        for (const [at, said] of heard) { now = at; clock.hear(said); }
        now = 2000;
        return [clock.nowMs(), clock.leftMs(12000), clock.leftMs(5)];
    }"""
    heard = [[1000, 6000], [1500, 6100], [1600, 6590]]
    assert await modules("core/clock.js", clock, heard) == [7000, 5000, 0]


async def test_a_win_of_partners_is_told_to_both_sides(modules: Modules) -> None:
    """O2: whoever of the side finished; the others read both names, and a draw is nobody's."""
    told = """(m, mode, winner) => {
        const t = (key, {name, partner} = {}) => [key, name, partner].filter(Boolean).join(" ");
        t.signed = t.number = String;
        t.has = () => true;
        const names = ["A", "B", "C", "D"];
        const match = {winner, players: names, kind: "OUTCOME_KIND_CANAK_WIN"};
        const books = {chips: null, ratings: null};
        const shown = (viewer) => m.resultView(t, {mode, can: new Set(), viewer},
            {round: null, match, books, people: {names, viewer}});
        const words = [0, 1, 2, -1].map(
            (viewer) => shown(viewer).querySelector(".result-headline").textContent);
        return [...words, shown(0).querySelectorAll(".is-winner").length];
    }"""
    ours = ["result.yourSideWon C", "result.sideWon A C", "result.yourSideWon A"]
    finished = await modules("ui/result_view.js", told, "ESLI", 0)
    assert finished == [*ours, "result.sideWon A C", 2]
    partner_finished = await modules("ui/result_view.js", told, "ESLI", 2)
    theirs = "result.sideWon C A"
    assert partner_finished == [ours[0], theirs, ours[2], theirs, 2]
    drawn = await modules("ui/result_view.js", told, "ESLI", -1)
    assert drawn == ["result.matchDrawn"] * 4 + [0]
    alone = await modules("ui/result_view.js", told, "NORMAL", 0)
    assert alone == ["result.youWonMatch", *["result.wonMatch A"] * 3, 1]


async def test_numbers_and_times_are_written_as_the_reader_is_used_to(modules: Modules) -> None:
    """The first of the browser's locales in the chosen language; a minus is one, not a hyphen."""
    written = """(m, language, wished) => {
        const t = m.translator(language, wished);
        return [t.number(-1234), t.moment(Date.UTC(2026, 10, 30, 12)).slice(0, 8)];
    }"""
    british = await modules("core/i18n.js", written, "en", ["de-DE", "en-GB", "en-US"])
    assert british == ["−1,234", "30/11/20"]
    assert await modules("core/i18n.js", written, "en", ["tr-TR"]) == ["−1,234", "11/30/26"]
    assert await modules("core/i18n.js", written, "de", []) == ["−1.234", "30.11.26"]


async def test_only_matches_that_were_played_can_be_watched_again(modules: Modules) -> None:
    """M1: a stake that came back was for no match, unless it was held once more for it."""
    found = """(m, rows) => [...m.matchesPlayed(
        rows.map(([kind, match_id]) => ({kind: `JOURNAL_KIND_${kind}`, match_id})))].sort()"""
    rows = [
        ["WELCOME", ""],
        ["HOLD", "lost-1"],
        ["HOLD", "left-1"],
        ["VOID_HOLD", "left-1"],
        ["HOLD", "came-back-1"],
        ["VOID_HOLD", "came-back-1"],
        ["HOLD", "came-back-1"],
        ["SETTLE", "came-back-1"],
    ]
    assert await modules("core/statement.js", found, rows) == ["came-back-1", "lost-1"]


async def test_a_statement_is_read_on_from_where_it_ended(modules: Modules) -> None:
    """Full pages are kept, for two who ask at once too; another player's are another's."""
    story = """async (m) => {
        const rows = ["a", "b", "c"], asked = [];
        const rpc = {call: async (service, method, {account, page_token: token}) => {
            asked.push(account + token);
            const at = Number(token);
            const isLast = at + 2 > rows.length;
            return {postings: rows.slice(at, at + 2), next_page_token: isLast ? "" : `${at + 2}`};
        }};
        const session = {playerId: "ada"};
        const books = new m.Books({rpc, session});
        const found = await Promise.all([books.postings(), books.postings()]);
        rows.push("d", "e");
        asked.length = 0;
        found.push(await books.postings());
        session.playerId = "bo";
        found.push(await books.postings());
        return [found.map((postings) => postings.join("")), asked];
    }"""
    found, asked = await modules("screens/books.js", story)
    assert found == ["cba", "cba", "edcba", "edcba"]
    assert asked == [
        "player:ada2", "player:ada4", "player:bo", "player:bo2", "player:bo4"
    ]  # fmt: skip


async def test_players_of_one_name_are_told_apart(modules: Modules) -> None:
    """By the end of their ids; whoever has no name is shown as nobody's namesake."""
    shown = """(m, names) => {
        const rows = ["guest-00a1", "guest-00b2", "guest-00c3", "guest-00d4"];
        const found = m.named(rows.map((playerId) => ({playerId})), names, "Unnamed");
        return found.map(({name, mark}) => [name, mark]);
    }"""
    names = {"guest-00a1": "Ayşe", "guest-00b2": "Mehmet", "guest-00c3": "Ayşe"}
    assert await modules("core/names.js", shown, names) == [
        ["Ayşe", "00a1"],
        ["Mehmet", ""],
        ["Ayşe", "00c3"],
        ["Unnamed", ""],
    ]


async def test_what_happened_in_missed_rows_is_not_lost(modules: Modules) -> None:
    """Rows that are sent again carry no view: their events come with the next view."""
    steps = """(m) => {
        const rows = new m.Rows();
        const update = (kind, view) => ({update: {events: [{[kind]: {seat: 1}}], view}});
        return [
            rows.take(update("tile_drawn")),
            rows.take(update("round_ended", {seq: "7"})),
            rows.take(update("tile_drawn")),
            rows.take({snapshot: {seq: "9"}}),
        ];
    }"""
    drawn, ended = ({"kind": kind, "body": {"seat": 1}} for kind in ("tile_drawn", "round_ended"))
    assert await modules("core/rows.js", steps) == [
        None,
        {"view": {"seq": "7"}, "events": [drawn, ended]},
        None,
        {"view": {"seq": "9"}, "events": []},
    ]


async def test_a_drawn_round_is_told_without_a_name(modules: Modules) -> None:
    """Nobody won: the event's seat is -1, and there is no name to ask for."""
    told = """(m) => {
        const t = (key, values) => key + ":" + values.name;
        const nameOf = (seat) => ["Ayşe", "Mehmet"][seat].trim();
        const ended = (result, seat) => ({kind: "round_ended", body: {result, seat}});
        return m.eventsText(t, [
            ended("ROUND_RESULT_STOCK_EMPTY", -1),
            ended("ROUND_RESULT_WON", 1),
        ], nameOf, "R1");
    }"""
    assert await modules("core/announce.js", told) == "said.stockEmpty: said.finished:Mehmet"


async def test_a_closed_dialog_is_closed_at_once(modules: Modules) -> None:
    """What is asked right after must not take it for open, nor a late event close the next one."""
    names = """async (m) => {
        document.body.append(Object.assign(document.createElement("dialog"), {id: "dialog"}));
        const dialog = new m.Dialog(() => {});
        dialog.show("result", "Result", "won");
        dialog.close();
        const closed = dialog.name;
        dialog.show("menu", "Menu", "language");
        await new Promise((done) => setTimeout(done, 50));
        return [closed, dialog.name, document.getElementById("dialog").open];
    }"""
    assert await modules("ui/dialog.js", names) == ["", "menu", True]


async def test_what_unicode_says_to_ignore_is_no_letter_of_a_name(modules: Modules) -> None:
    """By the property Default_Ignorable_Code_Point, which Chromium knows and Python does not."""
    ignored = """() => {
        const points = Array.from({length: 0x110000}, (_, point) => point);
        const isIgnored = (text) => /\\p{Default_Ignorable_Code_Point}/u.test(text);
        return points.filter((point) => isIgnored(String.fromCodePoint(point)));
    }"""
    points = await modules("core/names.js", ignored)
    assert 0x3164 in points
    assert [hex(point) for point in points if display_name(chr(point))] == []


async def test_every_language_says_everything(modules: Modules) -> None:
    """The same texts with the same places to fill in; none that the page asks for is missing."""
    languages = {
        code: await modules(f"words/{code}.js", "(m) => m.words") for code in ("tr", "de", "en")
    }
    filled = {
        code: {key: sorted(re.findall(r"{\w+}", text)) for key, text in words.items()}
        for code, words in languages.items()
    }
    assert filled["tr"] == filled["en"]
    assert filled["de"] == filled["en"]
    sources = "\n".join(file.read_text() for file in PAGE.glob("js/**/*.js"))
    asked = set(re.findall(r'\bt\("([\w.]+)"', sources))
    assert asked - set(languages["en"]) == set()


@pytest.mark.parametrize("file", sorted(PAGE.glob("**/*.*")), ids=lambda file: file.name)
def test_files_of_the_page_are_short_and_call_no_other_site(file: object) -> None:
    """400 lines a module; nothing is fetched from anywhere else; no style or script in the HTML."""
    text = (PAGE / str(file)).read_text()
    assert len(text.splitlines()) <= 400
    assert set(re.findall(r"https?://[\w./]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<style|<script>|\son\w+=|\sstyle=", text)


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        ({}, "party_code"),
        ({"variant": "VARIANT_KLASIK"}, "terms"),
        ({"seats": "2"}, "terms"),
        ({"party": "open"}, "open_party"),
        ({"party": "open", "seats": "2"}, "terms"),
    ],
)
async def test_a_search_asks_for_a_partner_only_where_there_are_partners(
    modules: Modules, chosen: dict[str, str], asked: str
) -> None:
    """O2: who has chosen partners and then a game without them searches alone."""
    script = "(m, chosen) => m.ticketRequest({...m.NEW_TABLE, ...chosen})"
    partners = {"mode": "MODE_ESLI", "party": "join", "partyCode": " ABC "}
    request = await modules("ui/forms_view.js", script, partners | chosen)
    assert list(request)[-1] == asked
