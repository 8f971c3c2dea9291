"""The page's WebSocket against a made-up gateway: what is sent again after a break, what not."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser

from tests.browser.logic import Modules, modules_of_the_page

pytestmark = pytest.mark.system

# A gateway in the tab: notes what it is sent, and says and closes what a test wants.
GATEWAY = """
    const sent = [], heard = [], sockets = [];
    window.WebSocket = class extends EventTarget {
        constructor() { super(); sockets.push(this); setTimeout(() => this.tell("open", {})); }
        tell(kind, fields) { this.dispatchEvent(Object.assign(new Event(kind), fields)); }
        say(frame) { this.tell("message", {data: JSON.stringify(frame)}); }
        send(text) { sent.push(JSON.parse(text)); }
        close(code = 1006) { this.tell("close", {code}); }
    };
    const until = async (is) => { while (!is()) await new Promise((done) => setTimeout(done, 5)); };
    const callbacks = Object.fromEntries(
        ["Table", "Tables", "Ticket", "State", "End", "Time", "TokenEnded", "SignedOut",
         "Build"].map(
            (name) => ["on" + name, (value) => heard.push([name, value ?? null])]));
    const connection = new m.Connection(async () => "token", callbacks);
    const greet = async (number) => {
        await until(() => sent.filter((frame) => frame.hello).length === number);
        sockets.at(-1).say({welcome: {server_time_ms: "1"}});
    };
    connection.open();
"""


@pytest.fixture
async def modules(browser: Browser) -> AsyncIterator[Modules]:
    async with modules_of_the_page(browser) as modules:
        yield modules


async def run(modules: Modules, story: str) -> Any:
    return await modules("wire/connection.js", f"async (m) => {{ {GATEWAY} {story} }}")


async def test_after_a_break_it_resumes_and_sends_what_was_not_answered(modules: Modules) -> None:
    """U12: the cursor of the newest row, and the same request under the same id."""
    sent = await run(
        modules,
        """
        connection.attach("table");
        await greet(1);
        sockets[0].say({table: {snapshot: {seq: "5"}}, table_id: "table"});
        sockets[0].say({table: {update: {seq: "6", events: []}}, table_id: "table"});
        const first = connection.command("act", {request_id: "first", turn: 1});
        sockets[0].say({table: {result: {request_id: "first", seq: "7"}}, table_id: "table"});
        await first;
        const second = connection.command("act", {request_id: "second", turn: 2});
        sockets[0].close();
        await greet(2);
        sockets[1].say({table: {result: {request_id: "second", seq: "8"}}, table_id: "table"});
        return [await second, sent];
        """,
    )
    seq, frames = sent
    act = {"play": {"act": {"table_id": "table", "request_id": "second", "turn": 2}}}
    attach = {"table_id": "table", "with_view": True}
    assert seq == 8
    assert frames[:2] == [{"hello": {"token": "token"}}, {"play": {"attach": attach}}]
    assert frames[3:] == [
        act,
        {"hello": {"token": "token"}},
        {"play": {"attach": attach | {"after_seq": "6"}}},
        act,
    ]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("TOKEN_EXPIRED", "TokenEnded"),
        ("TOKEN_INVALID", "SignedOut"),
        ("TOKEN_REVOKED", "SignedOut"),
        ("SESSION_REPLACED", "SignedOut"),
    ],
)
async def test_an_ended_token_is_renewed_and_a_wrong_one_signs_out(
    modules: Modules, reason: str, told: str
) -> None:
    """Both close with 4001; only the one that held until now is worth another try."""
    heard, connections = await run(
        modules,
        f"""
        await greet(1);
        sockets[0].say({{end: {{of: "connection", reason: "{reason}"}}}});
        sockets[0].close(4001);
        if ("{told}" === "TokenEnded") await greet(2);
        return [heard.map(([name]) => name), sockets.length];
        """,
    )
    assert told in heard
    assert connections == (2 if told == "TokenEnded" else 1)


async def test_whoever_comes_next_gets_nothing_of_who_said_goodbye(modules: Modules) -> None:
    """The table, what was watched and what was not answered were the other player's."""
    sent, reason = await run(
        modules,
        """
        connection.attach("table");
        connection.watch("ticket");
        await greet(1);
        const command = connection.command("act", {request_id: "first", turn: 1});
        const refused = command.then(() => "", (refusal) => refusal.reason);
        connection.close();
        connection.open();
        await greet(2);
        return [sent.slice(-1), await Promise.race([refused, "none"])];
        """,
    )
    assert sent == [{"hello": {"token": "token"}}]
    assert reason == "TABLE_LEFT"


async def test_a_refusal_is_told_by_its_reason(modules: Modules) -> None:
    reason = await run(
        modules,
        """
        connection.attach("table");
        await greet(1);
        const command = connection.command("act", {request_id: "first", turn: 1});
        const error = {code: "FAILED_PRECONDITION", reason: "TURN_OVER", message: ""};
        sockets[0].say({table: {result: {request_id: "first", error}}, table_id: "table"});
        return command.then(() => "", (refusal) => refusal.reason);
        """,
    )
    assert reason == "TURN_OVER"


async def test_what_comes_of_another_table_is_left_alone(modules: Modules) -> None:
    """A row of a table that was just let go must not be taken for one of the new table."""
    heard = await run(
        modules,
        """
        connection.attach("old");
        await greet(1);
        connection.attach("new");
        sockets[0].say({table: {snapshot: {seq: "5"}}, table_id: "old"});
        sockets[0].say({table: {snapshot: {seq: "1"}}, table_id: "new"});
        return heard.filter(([name]) => name === "Table").map(([, table]) => table.snapshot.seq);
        """,
    )
    assert heard == ["1"]


@pytest.mark.parametrize(
    ("is_resumable", "then", "asked"),
    [("true", "", 2), ("true", 'connection.unwatch("tables");', 1), ("false", "", 1)],
    ids=["broke off", "broke off, not wanted any more", "is over"],
)
async def test_a_list_that_broke_off_is_followed_anew(
    modules: Modules, is_resumable: str, then: str, asked: int
) -> None:
    """As while the lobby is away: it comes back by itself, unless nobody wants it any more."""
    watches, ends = await run(
        modules,
        f"""
        connection.watch("tables", {{seat_count: 2}});
        await greet(1);
        const error = {{code: "UNAVAILABLE", reason: "", retry_after_ms: 1}};
        sockets[0].say({{end: {{of: "tables", is_resumable: {is_resumable}, error}}}});
        {then}
        const watches = () => sent.filter((frame) => frame.watch);
        await new Promise((done) => setTimeout(done, 60));
        return [watches(), heard.filter(([name]) => name === "End").length];
        """,
    )
    assert watches == [{"watch": {"tables": {"seat_count": 2}}}] * asked
    assert ends == (1 if is_resumable == "false" else 0)


# A minute's tick of a hidden tab's timers, and the clock that stands between.
HIDDEN = """
        const ticks = [];
        let now = 0;
        window.setInterval = (tick) => ticks.push(tick);
        performance.now = () => now;
        const pings = () => sent.filter((frame) => frame.ping).length;
        const minute = () => { now += 60000; ticks.at(-1)(); };
"""


async def test_a_hidden_tab_keeps_a_healthy_socket(modules: Modules) -> None:
    """Its timers run once a minute, its messages come at once: what was answered is not silent."""
    found = await run(
        modules,
        HIDDEN
        + """
        await greet(1);
        for (let number = 0; number < 5; number += 1) {
            minute();
            sockets[0].say({pong: {id: 1, server_time_ms: "1"}});
        }
        return [sockets.length, heard.filter(([name, state]) => state === "lost").length, pings()];
        """,
    )
    assert found == [1, 0, 5]


async def test_a_tab_that_was_frozen_asks_before_it_judges(modules: Modules) -> None:
    """Its timer may run before the answers that came meanwhile are read."""
    found = await run(
        modules,
        HIDDEN
        + """
        await greet(1);
        ticks.at(-1)();
        now += 3600000;
        ticks.at(-1)();
        const kept = sockets.length;
        sockets[0].say({pong: {id: 1, server_time_ms: "1"}});
        minute();
        return [kept, heard.filter(([name, state]) => state === "lost").length];
        """,
    )
    assert found == [1, 0]


async def test_a_dead_socket_is_left(modules: Modules) -> None:
    """No answer to pings for half a minute, in a tab that is seen."""
    found = await run(
        modules,
        HIDDEN
        + """
        await greet(1);
        const times = [];
        for (let number = 0; number < 5 && !times.length; number += 1) {
            now += 8000;
            ticks.at(-1)();
            if (heard.some(([name, state]) => state === "lost")) times.push(now);
        }
        return times;
        """,
    )
    assert found == [32000]
