"""Built manifests: raw, as kustomize prints them, and read into what the policies look at."""

import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "deploy"
KUBECTL: Final = Path(sys.executable).with_name("kubectl")

Manifest: TypeAlias = dict[str, JsonValue]
"""One object as YAML gives it."""


@cache
def kustomize(folder: Path) -> str:
    """What ``kubectl kustomize`` prints for the folder.

    Raises:
        subprocess.CalledProcessError: it does not build.
    """
    command = [str(KUBECTL), "kustomize", str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def build(folder: Path) -> list[Manifest]:
    """The folder's manifests, new objects at each call."""
    return cast("list[Manifest]", pickle.loads(_built(folder)))


@cache
def _built(folder: Path) -> bytes:
    """Pickled, because that is read a hundred times faster than YAML."""
    return pickle.dumps(list(yaml.load_all(kustomize(folder), yaml.CSafeLoader)))


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", frozen=True)


class Named(_Part):
    """A reference by name."""

    name: str


class Selector(_Part):
    match_labels: Mapping[str, str] = {}

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether it selects what has these labels."""
        return bool(self.match_labels) and self.match_labels.items() <= labels.items()


class Metadata(_Part):
    name: str = ""
    """Empty for a template."""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class Capabilities(_Part):
    drop: Sequence[str] = ()
    add: Sequence[str] = ()


class SeccompProfile(_Part):
    type: str


class SecurityContext(_Part):
    """Of a pod or of a container; what a pod says holds for its containers."""

    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    seccomp_profile: SeccompProfile | None = None
    allow_privilege_escalation: bool | None = None
    privileged: bool = False
    read_only_root_filesystem: bool | None = None
    capabilities: Capabilities = Capabilities()


class FieldRef(_Part):
    field_path: str


class EnvVarSource(_Part):
    field_ref: FieldRef | None = None


class EnvVar(_Part):
    name: str
    value: str | None = None
    value_from: EnvVarSource | None = None

    @property
    def is_pod_name(self) -> bool:
        """Whether its value is the name of the pod."""
        field = self.value_from.field_ref if self.value_from is not None else None
        return field is not None and field.field_path == "metadata.name"


class EnvFrom(_Part):
    config_map_ref: Named | None = None
    secret_ref: Named | None = None


class ContainerPort(_Part):
    name: str
    container_port: int
    host_port: int | None = None


class GrpcAction(_Part):
    port: int
    service: str | None = None


class Probe(_Part):
    grpc: GrpcAction | None = None


class Sleep(_Part):
    seconds: int


class Hook(_Part):
    sleep: Sleep | None = None


class Lifecycle(_Part):
    pre_stop: Hook | None = None


class VolumeMount(_Part):
    name: str
    mount_path: str
    sub_path: str | None = None


class Resources(_Part):
    requests: Mapping[str, str] = {}
    limits: Mapping[str, str] = {}


class Container(_Part):
    name: str
    image: str
    command: Sequence[str] = ()
    env: Sequence[EnvVar] = ()
    env_from: Sequence[EnvFrom] = ()
    ports: Sequence[ContainerPort] = ()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()
    resources: Resources = Resources()
    security_context: SecurityContext = SecurityContext()
    volume_mounts: Sequence[VolumeMount] = ()

    @property
    def pre_stop_s(self) -> int:
        """For how long it is let be before it is told to end."""
        hook = self.lifecycle.pre_stop
        return 0 if hook is None or hook.sleep is None else hook.sleep.seconds

    def port(self, name: str) -> int | None:
        """The port of that name."""
        return {port.name: port.container_port for port in self.ports}.get(name)


class SecretVolume(_Part):
    secret_name: str


class CsiVolume(_Part):
    driver: str
    read_only: bool = False
    volume_attributes: Mapping[str, str] = {}


class Volume(_Part):
    name: str
    secret: SecretVolume | None = None
    csi: CsiVolume | None = None
    host_path: Mapping[str, str] | None = None

    @property
    def holds_secrets(self) -> bool:
        """Whether it is a Secret, or read-only files of an external store."""
        store = self.csi is not None and self.csi.driver == "secrets-store.csi.k8s.io"
        return self.secret is not None or (store and self.csi is not None and self.csi.read_only)


class Spread(_Part):
    topology_key: str
    label_selector: Selector
    match_label_keys: Sequence[str] = ()


class PodSpec(_Part):
    containers: Sequence[Container]
    init_containers: Sequence[Container] = ()
    service_account_name: str | None = None
    automount_service_account_token: bool | None = None
    enable_service_links: bool | None = None
    termination_grace_period_seconds: int = 30
    security_context: SecurityContext = SecurityContext()
    volumes: Sequence[Volume] = ()
    host_network: bool = False
    host_pid: bool = Field(default=False, alias="hostPID")
    host_ipc: bool = Field(default=False, alias="hostIPC")
    topology_spread_constraints: Sequence[Spread] = ()


class PodTemplate(_Part):
    metadata: Metadata = Metadata()
    spec: PodSpec


class RollingUpdate(_Part):
    max_unavailable: int | str = "25%"
    max_surge: int | str = "25%"


class Strategy(_Part):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class WorkloadSpec(_Part):
    replicas: int = 1
    selector: Selector = Selector()
    strategy: Strategy = Strategy()
    template: PodTemplate
    min_ready_seconds: int = 0
    """Deployments: for how long a new pod is ready before an old one has to go."""
    ttl_seconds_after_finished: int | None = None
    """Jobs: when a finished one is deleted."""


class Workload(_Part):
    """A Deployment, a StatefulSet, a Job or the form of one."""

    kind: str
    metadata: Metadata
    spec: WorkloadSpec

    @property
    def pod(self) -> PodSpec:
        """What its pods are."""
        return self.spec.template.spec

    @property
    def container(self) -> Container:
        """The first container, which for a service of ours is the only one."""
        return self.pod.containers[0]


class ServicePort(_Part):
    name: str
    port: int
    target_port: int | str


class ServiceSpec(_Part):
    cluster_ip: str | None = Field(default=None, alias="clusterIP")
    selector: Mapping[str, str] = {}
    ports: Sequence[ServicePort] = ()


class Service(_Part):
    metadata: Metadata
    spec: ServiceSpec


class ConfigMap(_Part):
    metadata: Metadata
    data: Mapping[str, str] = {}


class Secret(_Part):
    metadata: Metadata
    data: Mapping[str, str] = {}
    """Base64, as in the cluster."""


class ServiceAccount(_Part):
    metadata: Metadata
    automount_service_account_token: bool | None = None


class BudgetSpec(_Part):
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None
    selector: Selector


class Budget(_Part):
    """How many pods a drain of a node may take at once."""

    metadata: Metadata
    spec: BudgetSpec


@dataclass(frozen=True)
class Platform:
    """Everything that one kustomization puts into a cluster, by name."""

    workloads: Mapping[str, Workload]
    services: Mapping[str, Service]
    config_maps: Mapping[str, ConfigMap]
    secrets: Mapping[str, Secret]
    accounts: Mapping[str, ServiceAccount]
    budgets: Mapping[str, Budget]

    @classmethod
    def read(cls, manifests: Sequence[Manifest]) -> "Platform":
        """The platform that these manifests describe."""

        def of_kind(*kinds: str) -> Iterator[tuple[str, Manifest]]:
            for one in manifests:
                if one["kind"] in kinds:
                    yield name_of(one), one

        kept = of_kind("Deployment", "StatefulSet", "Job")
        forms = (
            (n, {**m, "spec": part(m, "spec", "jobTemplate", "spec")})
            for n, m in of_kind("CronJob")
        )
        return cls(
            {n: Workload.model_validate(m) for n, m in (*kept, *forms)},
            {n: Service.model_validate(m) for n, m in of_kind("Service")},
            {n: ConfigMap.model_validate(m) for n, m in of_kind("ConfigMap")},
            {n: Secret.model_validate(m) for n, m in of_kind("Secret")},
            {n: ServiceAccount.model_validate(m) for n, m in of_kind("ServiceAccount")},
            {n: Budget.model_validate(m) for n, m in of_kind("PodDisruptionBudget")},
        )

    def environment(self, workload: Workload) -> dict[str, str]:
        """The variables of its container as the kubelet sets them; a value from elsewhere is ""."""
        variables: dict[str, str] = {}
        for source in workload.container.env_from:
            if source.config_map_ref is not None:
                found = self.config_maps.get(source.config_map_ref.name)
                variables |= found.data if found is not None else {}
        pod = f"{workload.metadata.name}-7d4b9-x2x4k"
        own = {
            one.name: pod if one.is_pod_name else one.value or "" for one in workload.container.env
        }
        return variables | own


def name_of(manifest: Manifest) -> str:
    """The object's name."""
    return Metadata.model_validate(manifest["metadata"]).name


def part(value: JsonValue, *keys: str) -> Manifest:
    """The object that the keys lead to."""
    for key in keys:
        value = cast("Manifest", value)[key]
    return cast("Manifest", value)
