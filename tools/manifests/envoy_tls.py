"""TLS of the edge, by files of secrets (SDS) that Envoy reads again when a certificate changes.

The certificate ``edge`` is shown to callers, ``platform`` to services; ``authorities`` vouch for
those.
"""

from typing import Final

from tools.manifests.envoy_parts import API, TYPE, Json, extension

_SECRET: Final = f"{API}.transport_sockets.tls.v3.Secret"


def to_callers(folder: str) -> Json:
    """How callers are met, with the files of ``secrets()`` in the folder."""
    common: Json = {
        "alpn_protocols": ["h2", "http/1.1"],
        "tls_certificate_sds_secret_configs": [_secret(folder, "edge")],
    }
    return _tls("DownstreamTlsContext", {"common_tls_context": common})


def to_service(folder: str, name: str) -> Json:
    """How a service is called: it has to prove its name, and asks for a certificate, too."""
    named: Json = {"san_type": "DNS", "matcher": {"exact": name}}
    common: Json = {
        # gRPC's servers turn away whoever does not name it.
        "alpn_protocols": ["h2"],
        "tls_certificate_sds_secret_configs": [_secret(folder, "platform")],
        "combined_validation_context": {
            "default_validation_context": {"match_typed_subject_alt_names": [named]},
            "validation_context_sds_secret_config": _secret(folder, "authorities"),
        },
    }
    return _tls("UpstreamTlsContext", {"sni": name, "common_tls_context": common})


def secrets(public: str, platform: str) -> dict[str, Json]:
    """A file each, by its name: certificates in two folders as cert-manager fills them."""

    def pair(name: str, folder: str) -> Json:
        certificate: Json = {
            "certificate_chain": {"filename": f"{folder}/tls.crt"},
            "private_key": {"filename": f"{folder}/tls.key"},
            "watched_directory": {"path": folder},
        }
        return {TYPE: _SECRET, "name": name, "tls_certificate": certificate}

    trusted: Json = {
        "trusted_ca": {"filename": f"{platform}/ca.crt"},
        "watched_directory": {"path": platform},
    }
    authorities: Json = {TYPE: _SECRET, "name": "authorities", "validation_context": trusted}
    made = {
        "edge": pair("edge", public),
        "platform": pair("platform", platform),
        "authorities": authorities,
    }
    return {f"{name}.yaml": {"resources": [resource]} for name, resource in made.items()}


def _secret(folder: str, name: str) -> Json:
    source: Json = {"path_config_source": {"path": f"{folder}/{name}.yaml"}}
    return {"name": name, "sds_config": {**source, "resource_api_version": "V3"}}


def _tls(kind: str, context: Json) -> Json:
    return extension("envoy.transport_sockets.tls", f"transport_sockets.tls.v3.{kind}", context)
