"""Policies for every pod, ours or not: what it may do on its node, and how much of it it takes.

A policy is a function of a platform that says what is wrong, one line each.
"""

from collections import Counter
from collections.abc import Iterator

from tests.deploy.manifests import Container, Platform, PodSpec, Workload


def pods_are_restricted(platform: Platform) -> list[str]:
    """Non-root, read-only root, no way to more privileges, no capabilities, seccomp's default."""
    return [
        f"{workload.metadata.name}/{container.name}: {fault}"
        for workload, container in _containers(platform)
        for fault in _privileges(workload.pod, container)
    ]


def nodes_are_left_alone(platform: Platform) -> list[str]:
    """No namespace, port or folder of the node."""
    faults = []
    for name, workload in platform.workloads.items():
        pod = workload.pod
        if pod.host_network or pod.host_pid or pod.host_ipc:
            faults.append(f"{name}: shares a namespace of its node")
        faults += [f"{name}: mounts its node's {v.host_path}" for v in pod.volumes if v.host_path]
    faults += [
        f"{workload.metadata.name}: takes port {port.host_port} of its node"
        for workload, container in _containers(platform)
        for port in container.ports
        if port.host_port is not None
    ]
    return faults


def variables_are_set_once(platform: Platform) -> list[str]:
    """Of two variables of one name the first would be silently lost."""
    return [
        f"{workload.metadata.name}: {name} is set twice"
        for workload, container in _containers(platform)
        for name, times in Counter(one.name for one in container.env).items()
        if times > 1
    ]


def images_are_pinned(platform: Platform) -> list[str]:
    """Every image has a tag or a digest, and the tag is not `latest`."""
    return [
        f"{workload.metadata.name}: image {container.image!r} is not pinned"
        for workload, container in _containers(platform)
        if not _is_pinned(container.image)
    ]


def memory_is_reserved(platform: Platform) -> list[str]:
    """Memory limit = request, so that nobody is killed for a neighbour; a CPU request, no limit."""
    faults = []
    for workload, container in _containers(platform):
        requests, limits = container.resources.requests, container.resources.limits
        name = workload.metadata.name
        if requests.get("memory") is None or requests.get("memory") != limits.get("memory"):
            faults.append(f"{name}: memory request and limit differ: {requests}, {limits}")
        if "cpu" not in requests:
            faults.append(f"{name}: no CPU request")
        if "cpu" in limits:
            faults.append(f"{name}: a CPU limit makes clocks late")
    return faults


def pods_have_no_api_access(platform: Platform) -> list[str]:
    """No token of the API server, and no variables made from the names of Services."""
    faults = []
    for name, workload in platform.workloads.items():
        if workload.pod.automount_service_account_token is not False:
            faults.append(f"{name}: the pod mounts a token of the API server")
        if workload.pod.enable_service_links is not False:
            faults.append(f"{name}: Services become variables")
    for name, account in platform.accounts.items():
        if account.automount_service_account_token is not False:
            faults.append(f"service account {name}: mounts its token")
    return faults


def secrets_are_whole_folders(platform: Platform) -> list[str]:
    """A secret mounted by subPath would never be renewed in a running pod."""
    return [
        f"{workload.metadata.name}: {mount.mount_path} is mounted by subPath"
        for workload, container in _containers(platform)
        for mount in container.volume_mounts
        if mount.sub_path is not None
    ]


def _containers(platform: Platform) -> Iterator[tuple[Workload, Container]]:
    for workload in platform.workloads.values():
        for container in (*workload.pod.init_containers, *workload.pod.containers):
            yield workload, container


def _privileges(pod: PodSpec, container: Container) -> Iterator[str]:
    own, shared = container.security_context, pod.security_context
    non_root = shared.run_as_non_root if own.run_as_non_root is None else own.run_as_non_root
    if non_root is not True:
        yield "runAsNonRoot is not true"
    user = shared.run_as_user if own.run_as_user is None else own.run_as_user
    if not user:
        yield "runAsUser is not a user other than root"
    seccomp = own.seccomp_profile or shared.seccomp_profile
    if seccomp is None or seccomp.type != "RuntimeDefault":
        yield "the seccomp profile is not RuntimeDefault"
    if own.allow_privilege_escalation is not False or own.privileged:
        yield "privileges may be gained"
    if own.read_only_root_filesystem is not True:
        yield "the root file system is writable"
    if list(own.capabilities.drop) != ["ALL"] or own.capabilities.add:
        yield "capabilities are left"


def _is_pinned(image: str) -> bool:
    if "@sha256:" in image:
        return True
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return bool(colon) and tag not in ("", "latest")
