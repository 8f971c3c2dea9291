"""HTTP/2 written by hand: what no client library sends, one frame at a time."""

import struct
from collections.abc import Iterable, Iterator, Mapping

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    0x0, 0x1, 0x3, 0x4, 0x6, 0x7, 0x8, 0x9,
)  # fmt: skip
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
CANCEL = struct.pack(">I", 8)
INITIAL_WINDOW = 4


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    """One frame."""
    return struct.pack(">I", len(content))[1:] + struct.pack(">BBI", kind, flags, stream) + content


def settings(values: Mapping[int, int] | None = None) -> bytes:
    """What a client wishes of its peer."""
    entries = (struct.pack(">HI", *each) for each in (values or {}).items())
    return frame(SETTINGS, 0, 0, b"".join(entries))


def hello(values: Mapping[int, int] | None = None) -> bytes:
    """What a client says first."""
    return PREFACE + settings(values)


def headers(
    stream: int,
    method: str,
    more: Iterable[tuple[str, str]] = (),
    *,
    flags: int = END_HEADERS,
) -> bytes:
    """The headers of a call, none of them compressed."""
    return frame(HEADERS, flags, stream, header_block(method, more))


def header_block(method: str, more: Iterable[tuple[str, str]] = ()) -> bytes:
    """The content of the headers of a call."""
    told = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", method),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        *more,
    ]
    return b"".join(literal(name, value) for name, value in told)


def literal(name: str, value: str) -> bytes:
    """A header that changes no table of the peer's."""
    return b"\x00" + _text(name) + _text(value)


def grpc_message(content: bytes, *, is_compressed: bool = False) -> bytes:
    """A message as it stands in a body."""
    return struct.pack(">BI", is_compressed, len(content)) + content


def message(stream: int, content: bytes, *, is_compressed: bool = False) -> bytes:
    """A gRPC message, in as many frames as it takes."""
    whole = grpc_message(content, is_compressed=is_compressed)
    parts = [whole[at : at + 16_384] for at in range(0, len(whole), 16_384)]
    last = len(parts) - 1
    return b"".join(
        frame(DATA, END_STREAM if number == last else 0, stream, part)
        for number, part in enumerate(parts)
    )


def reset(stream: int) -> bytes:
    """The end of a call that its caller does not want any more."""
    return frame(RST_STREAM, 0, stream, CANCEL)


def frames(said: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Kind, flags, stream and content of each whole frame."""
    at = 0
    while len(said) - at >= 9:
        length = int.from_bytes(said[at : at + 3], "big")
        if len(said) - at - 9 < length:
            return
        kind, flags, stream = struct.unpack(">BBI", said[at + 3 : at + 9])
        yield kind, flags, stream, said[at + 9 : at + 9 + length]
        at += 9 + length


def _text(text: str) -> bytes:
    """A literal of HPACK, without Huffman's code."""
    content = text.encode()
    length = len(content)
    if length < 127:
        return bytes([length]) + content
    rest, head = length - 127, bytearray([127])
    while rest >= 128:
        head.append(rest % 128 + 128)
        rest //= 128
    return bytes([*head, rest]) + content
