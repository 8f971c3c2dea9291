"""The reference pages: fresh, complete, and every rule of a proto has words."""

import re

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from buf.validate import validate_pb2
from tools.reference import guide, limits
from tools.reference.__main__ import FOLDER, made, stale
from tools.reference.guide import GuideBroken, Reason
from tools.reference.markdown import anchor, plain, table
from tools.reference.pages import Reference, RolesMissing


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return made()


def test_the_committed_pages_are_what_protos_and_guide_give(texts: dict[str, str]) -> None:
    assert stale(texts) == []


def test_a_changed_a_missing_and_a_left_over_page_are_stale() -> None:
    texts = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    gone = texts.pop("bots.md")
    assert gone
    assert stale({**texts, "lobby.md": "other", "new.md": "new"}) == [
        "bots.md",
        "lobby.md",
        "new.md",
    ]


def test_every_rpc_has_its_roles_and_both_of_its_messages(texts: dict[str, str]) -> None:
    rpcs = guide.roles(guide.PAGE.read_text("utf-8"))
    everything = "\n".join(texts.values())
    for rpc, roles in rpcs.items():
        part = everything.partition(f"\n### {rpc}\n")[2].partition("\n### ")[0]
        assert f"\n- Roles: {', '.join(roles)}\n" in part
        assert len(re.findall(r"^#### \w+(?:Request|Response)$", part, re.MULTILINE)) == 2


def test_every_reason_has_an_anchor(texts: dict[str, str]) -> None:
    headings = re.findall(r"^### ([A-Z_]+)$", texts["errors.md"], re.MULTILINE)
    assert headings == sorted(guide.reasons(guide.PAGE.read_text("utf-8")))


def test_a_field_shows_comment_limits_and_a_link_to_its_type(texts: dict[str, str]) -> None:
    assert "| 1 | `variant` | [Variant](common.md#variant) | Only this game. |" in texts["lobby.md"]
    assert re.search(r"^\| 7 \| `page_size` \| int32 .* ≥ 0 \|$", texts["lobby.md"], re.MULTILINE)


def test_a_rule_without_words_is_refused() -> None:
    field = FieldDescriptorProto(name="x", type=FieldDescriptorProto.TYPE_STRING)
    field.options.Extensions[validate_pb2.field].string.hostname = True
    with pytest.raises(limits.RuleUnknown, match=r"string\.hostname"):
        limits.of_field(field)


def test_an_rpc_whose_roles_nobody_says_is_refused() -> None:
    with pytest.raises(RolesMissing, match=r"BService\.C"):
        Reference({}, {}, {}).roles_of("BService", "C")
    assert Reference({}, {}, {"BService.C": ("lobby", "engine")}).roles_of("BService", "C") == (
        "lobby, engine"
    )


def test_statuses_are_no_reasons_of_an_rpc() -> None:
    known = {name: Reason(name, "NOT_FOUND", "Base.") for name in ("NOT_FOUND", "GONE")}
    assert Reference({}, known, {}).reasons_in("NOT_FOUND with GONE, or GONE") == [known["GONE"]]


def test_the_guides_tables_are_read() -> None:
    rows = ["| RPC | roles | what for |", "|---|---|---|", "| `BService.C` | player | play |"]
    page = "\n".join(
        [*rows, "| `BService.D` | player, lobby | sit |", "| `A_B` | NOT_FOUND | look |"]
    )
    assert guide.roles(page) == {"BService.C": ("player",), "BService.D": ("player", "lobby")}
    assert guide.rpcs(page)["BService.D"].purpose == "sit"
    assert guide.reasons(page + "\n") == {"A_B": Reason("A_B", "NOT_FOUND", "look")}


@pytest.mark.parametrize(
    "row",
    [
        "| `BService.C` | player | again |",
        "| `BService.E` | player |",
        "| `BService.E` | player | |",
        "| `BService.E` | | what for |",
    ],
)
def test_a_second_row_and_one_without_roles_or_purpose_are_found(row: str) -> None:
    with pytest.raises(GuideBroken):
        guide.rpcs(f"| `BService.C` | player | play |\n{row}\n")


def test_a_reason_with_two_rows_is_found() -> None:
    with pytest.raises(GuideBroken, match="A_B"):
        guide.reasons("| `A_B` | NOT_FOUND | look |\n| `A_B` | NOT_FOUND | twice |\n")


def test_markdown_is_escaped_outside_of_code() -> None:
    assert plain("<a> `<b>` *") == r"&lt;a> `<b>` \*"
    assert table(("a",), [("x|y\nz",)])[2] == r"| x\|y z |"
    assert anchor("Over `LobbyService.Join`, twice") == "over-lobbyservicejoin-twice"
