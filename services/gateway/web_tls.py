"""HTTPS for browsers, or the ingress before them, with a certificate that is renewed while it runs.

The port that browsers come to asks nobody for a certificate: who they are is told by their tokens.
"""

import ssl
from pathlib import Path

from okey_runtime.logging import get_logger
from okey_runtime.tls import CertificateFiles

_log = get_logger(__name__)


class WebTls:
    """What the port shows: at each connection the certificate that its files hold then.

    Raises:
        CertificateBroken, OSError: they cannot be used when the gateway starts.
    """

    def __init__(self, files: CertificateFiles, cert_file: Path, key_file: Path) -> None:
        self._files = files
        self._cert_file = cert_file
        self._key_file = key_file
        self._material = files.current()
        self._newest = self._load()

    def newest(self) -> ssl.SSLContext:
        """For the next connection."""
        material = self._files.current()
        if material is not self._material:
            self._material = material
            try:
                self._newest = self._load()
            except OSError as error:  # ssl.SSLError is one: they changed once more meanwhile
                _log.error("certificate_change_refused", error=str(error))
        return self._newest

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(self._cert_file, self._key_file)
        return context
