"""Origins of pages, as browsers send them."""

from urllib.parse import urlsplit


def origin(text: str) -> str:
    """The origin itself.

    Raises:
        ValueError: a browser never sends such an origin, or it stands for more than one.
    """
    parts = urlsplit(text)
    local = parts.hostname in ("localhost", "127.0.0.1")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise ValueError(f"{text!r} is no origin: write 'https://play.example.com', each by itself")
    if text != f"{parts.scheme}://{parts.netloc}".lower() or "@" in text or "*" in text:
        raise ValueError(f"{text!r} is no origin: write scheme, host and port only, in lower case")
    return text
