"""Certificates of the tests are as RFC 5280 asks: Python 3.13 and newer take no others."""

import ssl
from pathlib import Path

import pytest

from tests.fixtures.certificates import Authority


@pytest.mark.parametrize("name", ["engine", "wallet"])
def test_a_strict_verifier_takes_them(tmp_path: Path, name: str) -> None:
    """RFC 5280, 4.2.1.1 and 4.2.1.3: whose key signed it, and what a key is for."""
    files = Authority(tmp_path).issue(name, name)
    ours = ssl.create_default_context(cafile=str(files.ca))
    ours.verify_flags |= ssl.VERIFY_X509_STRICT
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(files.cert, files.key)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ours.wrap_bio(to_client, to_server, server_hostname=name)
    server = theirs.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for end in (client, server):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert client.getpeercert()
