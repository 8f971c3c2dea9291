"""Settings of connections: whom to trust, what to show, and whether others may read along.

A service and ``okeyctl`` read the same variables.
"""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from okey_runtime.environment import EnvironmentSettings
from okey_runtime.tls import CertificateFiles, ClientTls, Plaintext, Security


class DialSettings(EnvironmentSettings):
    """How others are dialled; without authorities, plaintext and on this machine only."""

    tls_ca_file: Path | None = None
    """The authorities that are trusted, in PEM; calls go out over TLS once it is set."""
    tls_cert_file: Path | None = None
    """The own certificate in PEM, its chain after it; read again when it changes."""
    tls_key_file: Path | None = None
    """The key of that certificate, in PEM; not readable by everybody."""
    tls_engine_name: str = Field(default="", max_length=253)
    """The name that every engine's certificate has; engines are dialled by their pods' addresses.
    """
    allow_plaintext: bool = False
    """Whether connections beyond this machine may be readable to others, where the network
    encrypts."""

    @model_validator(mode="after")
    def _certificate_is_whole(self) -> Self:
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError(
                "OKEY_TLS_CERT_FILE and OKEY_TLS_KEY_FILE belong together: set both, or neither"
            )
        if self.tls_cert_file is not None and self.tls_ca_file is None:
            raise ValueError(
                "OKEY_TLS_CERT_FILE without OKEY_TLS_CA_FILE: name the authorities that are "
                "trusted, too"
            )
        return self

    def certificate_files(self) -> CertificateFiles:
        """The files as they are now. Raises ``CertificateBroken``."""
        return CertificateFiles(
            cert_file=self.tls_cert_file, key_file=self.tls_key_file, ca_file=self.tls_ca_file
        )

    def security(self) -> Security:
        """How to dial. Raises ``CertificateBroken``."""
        if self.tls_ca_file is not None:
            return ClientTls(self.certificate_files())
        return Plaintext.ANYWHERE if self.allow_plaintext else Plaintext.ON_LOOPBACK
