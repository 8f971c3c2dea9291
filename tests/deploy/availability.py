"""Policies for staying up: pods apart, drains one by one, roll-outs that add before they take.

A policy is a function of a platform that says what is wrong, one line each.
"""

from collections.abc import Iterator
from typing import Final

from tests.deploy.manifests import Platform, Workload

APART: Final = ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
_KNOWN_AFTER_S: Final = 5
"""For how long the cluster's DNS keeps an answer."""
_PART: Final = "app.kubernetes.io/part-of"


def pods_are_selected_by_their_own_labels(platform: Platform) -> list[str]:
    """A Deployment selects its pods, and nobody else's."""
    faults = []
    for name, workload in _kept_up(platform):
        selector = workload.spec.selector
        if not selector.selects(workload.spec.template.metadata.labels):
            faults.append(f"{name}: does not select its own pods")
        faults += [
            f"{name}: selects the pods of {other} too"
            for other, one in platform.workloads.items()
            if other != name and selector.selects(one.spec.template.metadata.labels)
        ]
    return faults


def roll_outs_add_before_they_take(platform: Platform) -> list[str]:
    """One more, then one less once callers know of it, so that nobody is missed."""
    faults = []
    for name, workload in _kept_up(platform):
        rolling = workload.spec.strategy.rolling_update
        found = None if rolling is None else (rolling.max_unavailable, rolling.max_surge)
        if workload.spec.strategy.type != "RollingUpdate" or found != (0, 1):
            faults.append(f"{name}: rolls out as {workload.spec.strategy}")
        if workload.spec.min_ready_seconds < _KNOWN_AFTER_S:
            faults.append(f"{name}: the next one goes before callers know the new one")
    return faults


def drains_take_one_pod_at_a_time(platform: Platform) -> list[str]:
    """A budget for each, which lets pods go that serve nobody."""
    faults = []
    for name, workload in _kept_up(platform):
        labels = workload.spec.template.metadata.labels
        budgets = [one for one in platform.budgets.values() if one.spec.selector.selects(labels)]
        if len(budgets) != 1:
            faults.append(f"{name}: {len(budgets)} budgets")
        faults += [
            f"{name}: {one.spec} is not one at a time"
            for one in budgets
            if (one.spec.max_unavailable, one.spec.unhealthy_pod_eviction_policy)
            != (1, "AlwaysAllow")
        ]
    return faults


def pods_stand_apart(platform: Platform) -> list[str]:
    """Spread over zones and nodes, each service and each release by itself."""
    faults = []
    for name, workload in _kept_up(platform):
        spreads = workload.pod.topology_spread_constraints
        if tuple(one.topology_key for one in spreads) != APART:
            faults.append(f"{name}: is not spread over zones and nodes")
        for one in spreads:
            keys = {*one.label_selector.match_labels, *one.match_label_keys}
            if not {"app.kubernetes.io/name", "pod-template-hash"} <= keys:
                faults.append(f"{name}: is spread among others, not by itself")
    return faults


def _kept_up(platform: Platform) -> Iterator[tuple[str, Workload]]:
    """What must stay up: every Deployment of the platform, not the databases of a trial."""
    for name, workload in platform.workloads.items():
        if workload.kind == "Deployment" and workload.metadata.labels.get(_PART) == "okey":
            yield name, workload
