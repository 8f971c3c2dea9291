"""Every policy holds for every platform in deploy/, and each can fail: it sees what was spoiled."""

from pathlib import Path
from typing import Final

import pytest

from tests.deploy import availability, hardening, schemas, wiring
from tests.deploy.manifests import DEPLOY, Platform, build
from tests.deploy.mutation import CONTAINER, Mutation, drop, put
from tests.deploy.wiring import Policy

PLATFORMS: Final = (DEPLOY / "base", *sorted((DEPLOY / "overlays").iterdir()))

POD: Final = "spec/template/spec"
GRPC: Final = f"{CONTAINER}/readinessProbe/grpc"

SPOILED: Final[dict[Policy, tuple[Mutation, ...]]] = {
    hardening.pods_are_restricted: (
        put("Deployment/engine", f"{POD}/securityContext/runAsNonRoot", False),
        put("Deployment/engine", f"{POD}/securityContext/runAsUser", 0),
        put("Deployment/engine", f"{POD}/securityContext/seccompProfile/type", "Unconfined"),
        drop("Deployment/lobby", f"{CONTAINER}/securityContext/allowPrivilegeEscalation"),
        drop("Deployment/lobby", f"{CONTAINER}/securityContext/readOnlyRootFilesystem"),
        put("Deployment/wallet", f"{CONTAINER}/securityContext/privileged", True),
        put("Deployment/wallet", f"{CONTAINER}/securityContext/capabilities/drop", ["CHOWN"]),
        put("Deployment/wallet", f"{CONTAINER}/securityContext/capabilities/add", ["NET_RAW"]),
        put("Deployment/bots", f"{CONTAINER}/securityContext/runAsNonRoot", False),
        drop("Job/rating-migration", f"{CONTAINER}/securityContext"),
    ),
    hardening.images_are_pinned: (
        put("Deployment/engine", f"{CONTAINER}/image", "okey-platform:latest"),
        put("Deployment/engine", f"{CONTAINER}/image", "registry.example:5000/okey-platform"),
    ),
    hardening.memory_is_reserved: (
        put("Deployment/engine", f"{CONTAINER}/resources/limits/memory", "1Gi"),
        drop("Deployment/engine", f"{CONTAINER}/resources"),
        drop("Deployment/bots", f"{CONTAINER}/resources/requests/cpu"),
        put("Deployment/bots", f"{CONTAINER}/resources/limits/cpu", "1"),
    ),
    hardening.pods_have_no_api_access: (
        drop("Deployment/engine", f"{POD}/automountServiceAccountToken"),
        drop("Deployment/engine", f"{POD}/enableServiceLinks"),
        put("ServiceAccount/bots", "automountServiceAccountToken", True),
    ),
    hardening.secrets_are_whole_folders: (
        put("Deployment/engine", f"{CONTAINER}/volumeMounts/0/subPath", "jwks.json"),
    ),
    wiring.every_service_is_deployed: (
        drop("Deployment/rating"),
        drop("Service/rating"),
        drop("ServiceAccount/rating"),
        drop("Service/rating", "spec/clusterIP"),
        put("Service/rating", "spec/selector", {"app.kubernetes.io/name": "wallet"}),
        put("Deployment/rating", f"{POD}/serviceAccountName", "default"),
    ),
    wiring.commands_start_modules: (
        put("Deployment/engine", f"{CONTAINER}/command/2", "services.wallet"),
        put("Deployment/engine", f"{CONTAINER}/command/2", "services.motor"),
        drop("Deployment/engine", f"{CONTAINER}/command"),
    ),
    wiring.variables_are_settings: (
        put("ConfigMap/okey-common", "data/OKEY_LISTEN_PROT", "7400"),
        # A setting, but another service's.
        put("ConfigMap/bots-settings", "data/OKEY_WALLET_ADDRESS", "dns:///wallet:7400"),
        put("Deployment/engine", f"{CONTAINER}/env/0/name", "DEBUG"),
    ),
    wiring.ports_agree: (
        put("ConfigMap/okey-common", "data/OKEY_METRICS_PORT", "9090"),
        drop("ConfigMap/okey-common", "data/OKEY_HEALTH_PORT"),
        put("ConfigMap/okey-common", "data/OKEY_LISTEN_HOST", "127.0.0.1"),
        put("Service/lobby", "spec/ports/0/port", 80),
        put("Service/lobby", "spec/ports/1/targetPort", "grpc"),
        drop("Deployment/engine", "spec/template/metadata/annotations"),
    ),
    wiring.probes_ask_health: (
        drop("Deployment/engine", f"{CONTAINER}/livenessProbe"),
        put("Deployment/engine", f"{GRPC}/port", 7400),
        put("Deployment/engine", f"{GRPC}/service", "liveness"),
        drop("Deployment/engine", f"{GRPC}/service"),
    ),
    wiring.addresses_lead_to_services: (
        put("ConfigMap/lobby-settings", "data/OKEY_ENGINE_ADDRESS", "dns:///motor:7400"),
        put("ConfigMap/lobby-settings", "data/OKEY_ENGINE_ADDRESS", "dns:///engine:7420"),
        put("ConfigMap/lobby-settings", "data/OKEY_ENGINE_ADDRESS", "dns:///wallet:7400"),
        put("ConfigMap/lobby-settings", "data/OKEY_ENGINE_ADDRESS", "engine:7400"),
    ),
    wiring.streams_are_sent_to_pods: (drop("Deployment/engine", f"{CONTAINER}/env"),),
    wiring.engines_are_told_apart: (
        put("Deployment/engine", "spec/strategy", {"type": "Recreate"}),
        put("Deployment/engine", "spec/strategy/rollingUpdate/maxUnavailable", 1),
        put("Deployment/engine", f"{CONTAINER}/env/0/valueFrom/fieldRef/fieldPath", "metadata.uid"),
    ),
    wiring.grace_outlasts_the_drain: (
        drop("Deployment/wallet", f"{POD}/terminationGracePeriodSeconds"),
        put("ConfigMap/okey-common", "data/OKEY_DRAIN_TIMEOUT_MS", "60000"),
        put("Deployment/engine", f"{CONTAINER}/lifecycle/preStop/sleep/seconds", 20),
    ),
    wiring.names_stop_leading_to_it_first: (drop("Deployment/lobby", f"{CONTAINER}/lifecycle"),),
    wiring.files_are_mounted: (
        put("ConfigMap/okey-common", "data/OKEY_JWKS_FILE", "/etc/jwks.json"),
        put("Deployment/engine", f"{CONTAINER}/volumeMounts/0/mountPath", "/elsewhere"),
        put("Deployment/engine", f"{POD}/volumes/0", {"name": "jwks", "emptyDir": {}}),
        put("ConfigMap/wallet-settings", "data/OKEY_DATABASE_URL", "postgresql://wallet"),
        put("Deployment/bots", f"{CONTAINER}/envFrom/1", {"secretRef": {"name": "any"}}),
    ),
    schemas.schemas_are_migrated_by_jobs: (
        drop("Job/engine-migration"),
        put("Job/wallet-migration", f"{CONTAINER}/command/2", "services.engine.migrate"),
        drop("Job/rating-migration", f"{CONTAINER}/command"),
        drop("Job/rating-migration", "spec/ttlSecondsAfterFinished"),
        put("Job/rating-migration", "spec/ttlSecondsAfterFinished", 300),
    ),
    schemas.migrations_are_of_the_services_release: (
        put("Job/engine-migration", f"{CONTAINER}/image", "okey-platform:0.0.9"),
    ),
    schemas.nobody_calls_a_migration: (
        put(
            "Job/engine-migration",
            "spec/template/metadata/labels",
            {"app.kubernetes.io/name": "engine"},
        ),
    ),
    schemas.migrations_are_given_their_database: (
        put("Job/engine-migration", f"{CONTAINER}/env/0/value", "/elsewhere"),
        put("Job/engine-migration", f"{CONTAINER}/env/0/name", "OKEY_SECRET_DIR"),
        drop("Job/engine-migration", f"{CONTAINER}/volumeMounts"),
        put("Job/engine-migration", f"{POD}/volumes/0", {"name": "secrets", "emptyDir": {}}),
    ),
    schemas.the_ledgers_owner_is_not_the_wallet: (
        put("Job/wallet-migration", f"{POD}/volumes/0/secret/secretName", "wallet-secrets"),
        put("Job/wallet-migration", f"{POD}/serviceAccountName", "wallet"),
        drop("ServiceAccount/wallet-migration"),
    ),
    hardening.nodes_are_left_alone: (
        put("Deployment/engine", f"{POD}/hostNetwork", True),
        put("Deployment/engine", f"{POD}/hostPID", True),
        put("Job/engine-migration", f"{POD}/hostIPC", True),
        put("Deployment/engine", f"{POD}/volumes/0", {"name": "jwks", "hostPath": {"path": "/"}}),
        put("Deployment/engine", f"{CONTAINER}/ports/0/hostPort", 7400),
    ),
    hardening.variables_are_set_once: (
        put("Deployment/engine", f"{CONTAINER}/env/1/name", "OKEY_ENGINE_NAME"),
    ),
    availability.pods_are_selected_by_their_own_labels: (
        put("Deployment/engine", "spec/selector/matchLabels", {"app.kubernetes.io/name": "motor"}),
        put(
            "Deployment/engine", "spec/selector/matchLabels", {"app.kubernetes.io/part-of": "okey"}
        ),
    ),
    availability.roll_outs_add_before_they_take: (
        put("Deployment/lobby", "spec/strategy", {"type": "Recreate"}),
        put("Deployment/lobby", "spec/strategy/rollingUpdate/maxUnavailable", 1),
        drop("Deployment/wallet", "spec/strategy"),
        drop("Deployment/wallet", "spec/minReadySeconds"),
    ),
    availability.drains_take_one_pod_at_a_time: (
        drop("PodDisruptionBudget/engine"),
        put("PodDisruptionBudget/engine", "spec/maxUnavailable", 2),
        drop("PodDisruptionBudget/engine", "spec/unhealthyPodEvictionPolicy"),
        put(
            "PodDisruptionBudget/engine",
            "spec/selector/matchLabels",
            {"app.kubernetes.io/name": "lobby"},
        ),
    ),
    availability.pods_stand_apart: (
        drop("Deployment/engine", f"{POD}/topologySpreadConstraints/0"),
        drop("Deployment/bots", f"{POD}/topologySpreadConstraints"),
        put("Deployment/bots", f"{POD}/topologySpreadConstraints/0/matchLabelKeys", []),
    ),
}


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("policy", SPOILED, ids=lambda policy: policy.__name__)
def test_policy_holds(policy: Policy, platform: Path) -> None:
    assert policy(Platform.read(build(platform))) == []


@pytest.mark.parametrize(
    ("policy", "mutation"),
    [(policy, mutation) for policy, mutations in SPOILED.items() for mutation in mutations],
    ids=[f"{policy.__name__}-{n}" for policy in SPOILED for n in range(len(SPOILED[policy]))],
)
def test_policy_sees_what_was_spoiled(policy: Policy, mutation: Mutation) -> None:
    manifests = build(DEPLOY / "base")

    mutation(manifests)

    assert policy(Platform.read(manifests)) != []


def test_every_policy_is_checked() -> None:
    written = {
        value
        for module in (availability, hardening, schemas, wiring)
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
    }

    assert written == set(SPOILED)
