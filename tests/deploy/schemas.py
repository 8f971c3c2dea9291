"""Policies for migrations: each database is migrated by a Job, of the same release as its service.

A policy is a function of a platform that says what is wrong, one line each.
"""

from collections.abc import Iterator
from typing import Final

from okey_runtime.environment import SECRETS_DIR_VARIABLE
from tests.deploy.code import KEEPERS, is_startable, variables_of_migrations
from tests.deploy.manifests import Platform, Workload

_LOG_KEPT_S: Final = 86_400
"""A failed Job's log goes with it."""


def schemas_are_migrated_by_jobs(platform: Platform) -> list[str]:
    """A Job each, which runs the service's own migration and is gone before the next release."""
    faults = []
    for service in KEEPERS:
        job = platform.workloads.get(f"{service}-migration")
        if job is None or job.kind != "Job":
            faults.append(f"{service}: no Job migrates its schema")
            continue
        command = list(job.container.command)
        if command != ["python", "-m", f"services.{service}.migrate"]:
            faults.append(f"{service}: {command} is not its migration")
        elif not is_startable(command[-1]):
            faults.append(f"{service}: {command} does not start")
        ttl_s = job.spec.ttl_seconds_after_finished
        if ttl_s is None:
            faults.append(f"{service}: its Job stays, and a Job cannot be changed")
        elif ttl_s < _LOG_KEPT_S:
            faults.append(f"{service}: why it failed is gone after {ttl_s} s")
    return faults


def migrations_are_of_the_services_release(platform: Platform) -> list[str]:
    """Job and Deployment have the same image: an older one would not reach the schema."""
    return [
        f"{job.metadata.name}: {job.container.image}, and its service {of.container.image}"
        for job, of in _pairs(platform)
        if job.container.image != of.container.image
    ]


def nobody_calls_a_migration(platform: Platform) -> list[str]:
    """No Service selects its pod, which would be given calls at once."""
    return [
        f"{job.metadata.name}: the Service {name} selects it"
        for job, _ in _pairs(platform)
        for name, service in platform.services.items()
        if service.spec.selector.items() <= job.spec.template.metadata.labels.items()
    ]


def migrations_are_given_their_database(platform: Platform) -> list[str]:
    """Variables that the code reads, and the folder of secrets where it looks for them."""
    faults = []
    for job, _ in _pairs(platform):
        variables = platform.environment(job)
        name = job.metadata.name
        faults += [
            f"{name}: nothing reads {variable}"
            for variable in variables.keys() - variables_of_migrations()
        ]
        secret = {volume.name for volume in job.pod.volumes if volume.holds_secrets}
        mounted = {one.mount_path for one in job.container.volume_mounts if one.name in secret}
        if variables.get(SECRETS_DIR_VARIABLE) not in mounted:
            faults.append(f"{name}: its secrets are not where it looks for them")
    return faults


def the_ledgers_owner_is_not_the_wallet(platform: Platform) -> list[str]:
    """The password of the schema's owner lies in no volume that the wallet mounts, and a store that
    gives secrets by service account can tell the two apart.
    """
    job, wallet = (platform.workloads.get(name) for name in ("wallet-migration", "wallet"))
    if job is None or wallet is None:
        return ["wallet: not deployed"]
    of_job = [volume for volume in job.pod.volumes if volume.holds_secrets]
    shared = [one.name for one in wallet.pod.volumes if one in of_job]
    faults = [f"wallet: mounts {name}, as the ledger's owner does" for name in shared]
    account = job.pod.service_account_name
    if account not in platform.accounts or account == wallet.pod.service_account_name:
        faults.append(f"wallet-migration: {account} is no account of its own")
    return faults


def _pairs(platform: Platform) -> Iterator[tuple[Workload, Workload]]:
    for service in KEEPERS:
        job, of = platform.workloads.get(f"{service}-migration"), platform.workloads.get(service)
        if job is not None and of is not None:
            yield job, of
