"""What the page keeps in the browser, and whom it takes for signed in, whatever that says."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.browser.logic import Modules, modules_of_the_page

pytestmark = pytest.mark.system


@pytest.fixture
async def modules(browser: Browser) -> AsyncIterator[Modules]:
    async with modules_of_the_page(browser) as modules:
        yield modules


BROWSERS = {
    "blocked": "() => { throw new DOMException('no', 'SecurityError'); }",
    "missing": "() => null",
    "full": """() => ({getItem: () => null, removeItem: () => {},
        setItem: () => { throw new DOMException('no', 'QuotaExceededError'); }})""",
    "taken away": """() => new Proxy({}, {
        get: () => () => { throw new DOMException('no', 'SecurityError'); }})""",
}


@pytest.mark.parametrize("kind", BROWSERS)
async def test_where_the_browser_keeps_nothing_the_page_remembers(
    modules: Modules, kind: str
) -> None:
    story = f"""(m) => {{
        const store = new m.Store({BROWSERS[kind]});
        const before = [store.text("okey.theme"), store.json("okey.session", () => true)];
        const isKept = store.keep("okey.invite.t", "code");
        const found = store.text("okey.invite.t");
        store.drop("okey.invite.t");
        return [before, isKept, found, store.text("okey.invite.t")];
    }}"""
    assert await modules("core/store.js", story) == [["", None], False, "code", ""]


async def test_rubbish_is_as_good_as_nothing(modules: Modules) -> None:
    story = """(m) => {
        const store = new m.Store(() => localStorage);
        return ["{", "7", "null", "[]", '{"a": 1}', ""].map((text) => {
            localStorage.setItem("okey.session", text);
            return store.json("okey.session", (found) => Array.isArray(found));
        });
    }"""
    assert await modules("core/store.js", story) == [None, None, None, [], None, None]


async def test_keys_of_old_tables_go_and_the_newest_stay(modules: Modules) -> None:
    """Those of an older version too, which kept no order of them; others' keys stay."""
    story = """(m) => {
        localStorage.setItem("okey.rack.old", "[]");
        localStorage.setItem("okey.forgotten", "of an old version");
        localStorage.setItem("another.page", "its own");
        const store = new m.Store(() => localStorage);
        store.keep("okey.theme", "dark");
        store.keep("okey.invite.first", "code");
        for (let number = 0; number < 250; number += 1) {
            store.keep(`okey.nonce.${number}`, "n");
            store.keep("okey.invite.first", "code");
        }
        const kept = (key) => localStorage.getItem(key) !== null;
        const keys = Object.keys(localStorage).filter((key) => /^okey.(invite|nonce)/.test(key));
        return [["okey.rack.old", "okey.forgotten", "okey.nonce.0"].map(kept),
            ["another.page", "okey.theme", "okey.invite.first", "okey.nonce.249"].map(kept),
            keys.length <= 201];
    }"""
    gone, kept, is_bounded = await modules("core/store.js", story)
    assert (gone, kept, is_bounded) == ([False] * 3, [True] * 4, True)


async def test_a_full_browser_makes_room_for_what_is_new(modules: Modules) -> None:
    story = """(m) => {
        const store = new m.Store(() => localStorage);
        const big = "x".repeat(40000);
        for (let number = 0; number < 199; number += 1) store.keep(`okey.seen.${number}`, big);
        const isKept = store.keep("okey.invite.new", "code");
        return [isKept, localStorage.getItem("okey.invite.new")];
    }"""
    assert await modules("core/store.js", story) == [True, "code"]


# A signed-in tab whose gateway answers with guests; ``asked`` are its calls.
SIGNED_IN = """
    const asked = [];
    window.fetch = async (path) => {
        asked.push(path);
        const guest = {token: "new", player_id: "guest-1", name: "Ada"};
        guest.expires_at_ms = "9999999999999";
        return new Response(JSON.stringify(guest));
    };
    const HOUR = 3600000, now = Date.now();
    const clock = {isSet: true, nowMs: () => now};
    const {Store} = await import("/js/core/store.js");
    const signedIn = (player_id, left) => {
        const kept = {token: "old", player_id, name: "Ada", expires_at_ms: String(now + left)};
        sessionStorage.setItem("okey.session", JSON.stringify(kept));
        return new m.Session(new Store(() => sessionStorage), clock);
    };
    const outcome = (session) => session.token().catch((refusal) => refusal.reason);
"""


@pytest.mark.parametrize("shift", [1, 13, -1])
@pytest.mark.parametrize("player", ["ada", "guest-1"])
async def test_the_devices_clock_ends_no_session(modules: Modules, player: str, shift: int) -> None:
    """It may be wrong by hours: the server's time counts, and its answer where that is unknown."""
    story = f"""async (m) => {{
        {SIGNED_IN}
        const wrong = Date.now() + {shift} * HOUR;
        Date.now = () => wrong;
        const known = await outcome(signedIn("{player}", HOUR / 2));
        clock.isSet = false;
        return [known, await outcome(signedIn("{player}", HOUR / 2)), asked];
    }}"""
    assert await modules("wire/session.js", story) == ["old", "old", []]


async def test_a_guests_token_is_renewed_before_it_ends_by_the_servers_time(
    modules: Modules,
) -> None:
    story = f"""async (m) => {{
        {SIGNED_IN}
        Date.now = () => now - HOUR;
        const session = signedIn("guest-1", 30000);
        return [await outcome(session), session.playerId, asked];
    }}"""
    assert await modules("wire/session.js", story) == ["new", "guest-1", ["/session/guest"]]


async def test_nobody_but_a_guest_asks_to_be_a_guest(modules: Modules) -> None:
    """A player whose token has ended is signed out, or goes on with the provider's newest one."""
    story = f"""async (m) => {{
        {SIGNED_IN}
        const soon = signedIn("ada", 30000);
        const found = [await outcome(soon)];
        soon.expire();
        found.push(await outcome(soon));
        const fresh = {{token: "fresh", player_id: "ada", name: "Ada", expires_at_ms: "1"}};
        sessionStorage.setItem("okey.session", JSON.stringify(fresh));
        clock.isSet = false;
        found.push(await outcome(soon));
        return [found, soon.playerId, asked];
    }}"""
    found = await modules("wire/session.js", story)
    assert found == [["old", "TOKEN_EXPIRED", "fresh"], "ada", []]


async def test_a_call_whose_token_has_ended_is_made_again_with_a_new_one(
    modules: Modules,
) -> None:
    story = """async (m) => {
        const tokens = [];
        window.fetch = async (path, {headers}) => {
            tokens.push(headers.Authorization);
            const isOld = tokens.length === 1;
            const ended = {code: "UNAUTHENTICATED", reason: "TOKEN_EXPIRED", message: ""};
            return new Response(JSON.stringify(isOld ? ended : {}), {status: isOld ? 401 : 200});
        };
        let token = "old";
        const session = {token: async () => token, expire: () => { token = "new"; }};
        await new m.Rpc(session).call("A", "B");
        return tokens;
    }"""
    assert await modules("wire/rpc.js", story) == ["Bearer old", "Bearer new"]


async def test_a_page_older_than_its_gateway_reloads_once(modules: Modules) -> None:
    """Not twice in five minutes, as while gateways of two builds are up, and not without need."""
    story = """(m) => {
        const kept = new Map(), reloads = [];
        const store = {text: (key) => kept.get(key) ?? "",
            keep: (key, text) => { kept.set(key, text); return true; }};
        let now = 1e12;
        const page = (build, heard, tab = store) => {
            const upgrade = new m.Upgrade(build, tab, () => reloads.push(build), () => now);
            upgrade.hear(heard);
            const isDue = upgrade.isDue;
            upgrade.take();
            return isDue;
        };
        const due = [page("a", "a"), page("a", ""), page("", "b")];
        due.push(page("a", "b"), page("b", "a"));
        now += 301000;
        due.push(page("a", "b"));
        due.push(page("c", "b", {text: () => "", keep: () => false}));
        return [due, reloads];
    }"""
    due, reloads = await modules("core/upgrade.js", story)
    assert due == [False, False, False, True, True, True, True]
    assert reloads == ["a", "a"]
