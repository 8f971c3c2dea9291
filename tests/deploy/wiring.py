"""Policies for our services: manifests name what the code has, and fit together.

A policy is a function of a platform that says what is wrong, one line each.
"""

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from okey_runtime.environment import SECRETS_DIR_VARIABLE
from okey_runtime.readiness import LIVENESS, READINESS
from tests.deploy.code import SERVICES, is_startable, variables_of
from tests.deploy.manifests import Platform, Workload

Policy: TypeAlias = Callable[[Platform], list[str]]

PORT_VARIABLES: Final = {
    "grpc": "OKEY_LISTEN_PORT",
    "metrics": "OKEY_METRICS_PORT",
    "health": "OKEY_HEALTH_PORT",
}
DRAIN_VARIABLES: Final = ("OKEY_DRAIN_DELAY_MS", "OKEY_DRAIN_TIMEOUT_MS", "OKEY_STOP_GRACE_MS")
_DNS_S: Final = 5
"""For how long the cluster's DNS keeps an answer."""
# The kubelet puts it into OKEY_ADVERTISE_ADDRESS; no service reads it.
_HELPERS: Final = frozenset({"POD_IP"})


def every_service_is_deployed(platform: Platform) -> list[str]:
    """A Deployment, a headless Service that selects it, and a service account of its own."""
    faults = []
    for name in SERVICES:
        workload, service = platform.workloads.get(name), platform.services.get(name)
        if workload is None or workload.kind != "Deployment":
            faults.append(f"{name}: no Deployment")
            continue
        if service is None or service.spec.cluster_ip != "None":
            faults.append(f"{name}: no headless Service")
        elif not service.spec.selector.items() <= workload.spec.template.metadata.labels.items():
            faults.append(f"{name}: its Service selects none of its pods")
        if workload.pod.service_account_name != name or name not in platform.accounts:
            faults.append(f"{name}: no service account of its own")
    return faults


def commands_start_modules(platform: Platform) -> list[str]:
    """Each runs `python -m services.<its name>`, which exists."""
    return [
        f"{name}: {workload.container.command} does not start it"
        for name, workload in _ours(platform)
        if list(workload.container.command) != ["python", "-m", f"services.{name}"]
        or not is_startable(workload.container.command[-1])
    ]


def variables_are_settings(platform: Platform) -> list[str]:
    """No variable that the code would silently ignore."""
    return [
        f"{name}: nothing reads {variable}"
        for name, workload in _ours(platform)
        for variable in platform.environment(workload)
        if variable not in variables_of(name) | _HELPERS
    ]


def ports_agree(platform: Platform) -> list[str]:
    """Settings, container ports, the Service and Prometheus' annotation name the same ports."""
    faults = []
    for name, workload in _ours(platform):
        variables = platform.environment(workload)
        for port, variable in PORT_VARIABLES.items():
            if str(workload.container.port(port)) != variables.get(variable):
                faults.append(f"{name}: container port {port} is not {variable}")
        service = platform.services.get(name)
        published = {} if service is None else {one.name: one for one in service.spec.ports}
        for port in ("grpc", "metrics"):
            one = published.get(port)
            if one is None or one.target_port != port or one.port != workload.container.port(port):
                faults.append(f"{name}: its Service does not lead to its port {port}")
        notes = workload.spec.template.metadata.annotations
        scraped = (notes.get("prometheus.io/scrape"), notes.get("prometheus.io/port"))
        if scraped != ("true", variables.get("OKEY_METRICS_PORT")):
            faults.append(f"{name}: Prometheus would scrape {scraped}")
        if variables.get("OKEY_LISTEN_HOST") != "0.0.0.0":
            faults.append(f"{name}: listens where no other pod reaches it")
    return faults


def probes_ask_health(platform: Platform) -> list[str]:
    """Liveness and readiness ask the plaintext port for two different health services."""
    faults = []
    for name, workload in _ours(platform):
        probed = workload.container
        for probe, service in (
            (probed.liveness_probe, LIVENESS),
            (probed.readiness_probe, READINESS),
        ):
            if probe is None or probe.grpc is None:
                faults.append(f"{name}: no gRPC probe for {service}")
            elif probe.grpc.port != probed.port("health") or probe.grpc.service != service:
                faults.append(f"{name}: the probe for {service} asks {probe.grpc}")
    return faults


def addresses_lead_to_services(platform: Platform) -> list[str]:
    """Whom a service calls is a Service here, at its gRPC port, found anew by DNS."""
    published = {
        f"dns:///{name}:{port.port}": name
        for name, service in platform.services.items()
        for port in service.spec.ports
        if port.name == "grpc"
    }
    return [
        f"{name}: {variable}={address} leads nowhere"
        for name, workload in _ours(platform)
        for variable, address in platform.environment(workload).items()
        if variable.endswith("_ADDRESS") and variable != "OKEY_ADVERTISE_ADDRESS"
        if published.get(address) != variable.removeprefix("OKEY_").removesuffix("_ADDRESS").lower()
    ]


def streams_are_sent_to_pods(platform: Platform) -> list[str]:
    """The engine tells others the address of its pod, not the one it binds."""
    engine = platform.workloads["engine"]
    expected = f"$(POD_IP):{engine.container.port('grpc')}"
    found = platform.environment(engine).get("OKEY_ADVERTISE_ADDRESS")
    return [] if found == expected else [f"engine: is said to be at {found}, not {expected}"]


def engines_are_told_apart(platform: Platform) -> list[str]:
    """Each engine is named like its pod, and one starts before another ends: a roll-out hands
    tables over.
    """
    engine = platform.workloads["engine"]
    named = [one.name for one in engine.container.env if one.is_pod_name]
    faults = [] if named == ["OKEY_ENGINE_NAME"] else ["engine: its name is not its pod's"]
    rolling = engine.spec.strategy.rolling_update
    if engine.spec.strategy.type != "RollingUpdate" or rolling is None:
        return [*faults, f"engine: strategy {engine.spec.strategy.type}"]
    if (rolling.max_unavailable, rolling.max_surge) != (0, 1):
        faults.append(f"engine: {rolling} does not hand over one by one")
    return faults


def grace_outlasts_the_drain(platform: Platform) -> list[str]:
    """A pod is not killed before its service has given up draining by itself."""
    return [
        f"{name}: {workload.pod.termination_grace_period_seconds} s are less than its drain"
        for name, workload in _ours(platform)
        if _drain_ms(platform, workload) >= workload.pod.termination_grace_period_seconds * 1000
    ]


def names_stop_leading_to_it_first(platform: Platform) -> list[str]:
    """A pod is told to end only after DNS has had time to forget it."""
    return [
        f"{name}: is told to end at once"
        for name, workload in _ours(platform)
        if workload.container.pre_stop_s < _DNS_S
    ]


def files_are_mounted(platform: Platform) -> list[str]:
    """Files and folders that settings name lie in mounted Secrets; no secret is a variable."""
    faults = []
    for name, workload in _ours(platform):
        secret = {volume.name for volume in workload.pod.volumes if volume.holds_secrets}
        folders = [
            PurePosixPath(mount.mount_path)
            for mount in workload.container.volume_mounts
            if mount.name in secret
        ]
        variables = platform.environment(workload)
        faults += [
            f"{name}: {variable}={value} lies in no mounted Secret or store"
            for variable, value in variables.items()
            if variable.endswith("_FILE") or variable == SECRETS_DIR_VARIABLE
            if not any(PurePosixPath(value).is_relative_to(folder) for folder in folders)
        ]
        faults += [f"{name}: {one} shows a secret" for one in variables if one.endswith("_URL")]
        if any(source.secret_ref is not None for source in workload.container.env_from):
            faults.append(f"{name}: a Secret becomes variables")
    return faults


def _ours(platform: Platform) -> Iterator[tuple[str, Workload]]:
    for name in SERVICES:
        if name in platform.workloads:
            yield name, platform.workloads[name]


def _drain_ms(platform: Platform, workload: Workload) -> int:
    variables = platform.environment(workload)
    drain_ms = sum(int(variables.get(name, 0)) for name in DRAIN_VARIABLES)
    return drain_ms + workload.container.pre_stop_s * 1000
