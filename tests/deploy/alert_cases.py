"""Series on which each alert fires, and such on which it stays quiet."""

from typing import Final

from tests.deploy.promtool import Case


def fires(alert: str, at: str, **series: str) -> Case:
    return Case(alert, _named(series), at, fires=True)


def is_quiet(alert: str, at: str, **series: str) -> Case:
    return Case(alert, _named(series), at, fires=False)


def _named(series: dict[str, str]) -> dict[str, str]:
    """Keys name series in short: ``tables`` of a case's own table below."""
    return {SERIES[name]: values for name, values in series.items()}


AT: Final = 'instance="a:7420"'
SERIES: Final = {
    "findings": 'okey_wallet_audit_findings{kind="UNBALANCED"}',
    "without_event": 'okey_wallet_audit_findings{kind="journal_without_event"}',
    "audited": "okey_wallet_audit_last_run_timestamp_seconds",
    "audit_failures": "okey_wallet_audit_failures_total",
    "chain_key": "okey_wallet_chain_key",
    "late_all": f'okey_engine_timer_late_seconds_bucket{{le="+Inf", {AT}}}',
    "late_half": f'okey_engine_timer_late_seconds_bucket{{le="0.5", {AT}}}',
    "late_quarter": f'okey_engine_timer_late_seconds_bucket{{le="0.25", {AT}}}',
    "commands_all": f'okey_engine_command_seconds_bucket{{le="+Inf", {AT}}}',
    "commands_half": f'okey_engine_command_seconds_bucket{{le="0.5", {AT}}}',
    "commands_quarter": f'okey_engine_command_seconds_bucket{{le="0.25", {AT}}}',
    "lag_all": f'okey_event_loop_lag_seconds_bucket{{le="+Inf", job="engine", {AT}}}',
    "lag_half": f'okey_event_loop_lag_seconds_bucket{{le="0.5", job="engine", {AT}}}',
    "lag_tenth": f'okey_event_loop_lag_seconds_bucket{{le="0.1", job="engine", {AT}}}',
    "bots_lag": 'okey_event_loop_lag_seconds_count{job="bots"}',
    "engine_lag": 'okey_event_loop_lag_seconds_count{job="engine"}',
    "standing": f"okey_engine_standing_still_seconds{{{AT}}}",
    "stood": f"okey_engine_standstill_seconds_total{{{AT}}}",
    "failed": f'okey_engine_commands_total{{kind="DrawFromStock", code="ERROR", {AT}}}',
    "accepted": f'okey_engine_commands_total{{kind="DrawFromStock", code="OK", {AT}}}',
    "cut": 'okey_engine_watchers_cut_total{reason="STREAM_END_REASON_SLOW_READER"}',
    "rating_lag": 'okey_event_loop_lag_seconds_count{job="rating"}',
    "waiting": 'okey_engine_relay_oldest_waiting_seconds{sink="wallet"}',
    "uncertain": 'okey_engine_relay_answers_total{sink="wallet", code="UNCERTAIN"}',
    "quarantined": "okey_engine_quarantined_tables",
    "unloaded": "okey_engine_unloaded_tables",
    "overdue": f"okey_engine_overdue_tables{{{AT}}}",
    "lost_seeds": f'okey_engine_lost_seeds_total{{outcome="MATCH_VOIDED", {AT}}}',
    "unsealed": f"okey_engine_unsealed_members{{{AT}}}",
    "ends": f'okey_tls_certificate_expires_timestamp_seconds{{file="a", {AT}}}',
    "busy": f'okey_limited_calls_total{{reason="SERVICE_BUSY", {AT}}}',
    "too_fast": f'okey_limited_calls_total{{reason="RATE_LIMITED", {AT}}}',
    "revocations_age": f"okey_revocations_age_seconds{{{AT}}}",
    "list_as_of": "okey_lobby_table_list_as_of_seconds",
    "uncounted": "okey_lobby_unlimited_total",
    "bank": 'okey_wallet_house_chips{account="house:bot_bank"}',
    "floor": "okey_wallet_bot_bank_floor_chips",
    "unowned": f"okey_engine_unowned_shards{{{AT}}}",
    "lease_age": f"okey_engine_lease_age_seconds{{{AT}}}",
    "members": f"okey_engine_members{{{AT}}}",
    "edge_lives": 'envoy_server_live{job="edge"}',
    "other_envoy_lives": 'envoy_server_live{job="mesh"}',
    "edge_sees": 'envoy_cluster_membership_healthy{job="edge", envoy_cluster_name="engine", '
    'instance="c:7420"}',
    "another_edge_sees": 'envoy_cluster_membership_healthy{job="edge", '
    'envoy_cluster_name="engine", instance="d:7420"}',
    "edge_calls": 'envoy_cluster_upstream_rq_completed{job="edge", envoy_cluster_name="engine"}',
    "edge_found_nobody": 'envoy_cluster_upstream_rq_xx{job="edge", envoy_cluster_name="engine", '
    'envoy_response_code_class="5"}',
    "edge_gave_up": 'envoy_cluster_upstream_rq_retry_limit_exceeded{job="edge", '
    'envoy_cluster_name="engine"}',
    "edge_turned_away": 'envoy_listener_downstream_global_cx_overflow{job="edge"}',
    "edge_heap": "envoy_overload_envoy_overload_actions_reset_high_memory_stream_active"
    '{job="edge"}',
    "edge_certificate": f'envoy_server_days_until_first_cert_expiring{{job="edge", {AT}}}',
    "job_failed": 'kube_job_failed{job_name="wallet-migration", condition="true"}',
    "tries_failed": 'kube_job_status_failed{job_name="wallet-migration"}',
    "job_succeeded": 'kube_job_status_succeeded{job_name="wallet-migration"}',
    "other_job_failed": 'kube_job_failed{job_name="report", condition="true"}',
    "unowned_elsewhere": 'okey_engine_unowned_shards{instance="b:7420"}',
    "lease_age_elsewhere": 'okey_engine_lease_age_seconds{instance="b:7420"}',
}

CASES: Final = (
    fires("OkeySealKeyLost", "2m", lost_seeds="_ 3x5"),
    fires("OkeySealKeyLost", "20m", lost_seeds="0x15 2x10"),
    is_quiet("OkeySealKeyLost", "60m", lost_seeds="0x30 3x40"),
    is_quiet("OkeySealKeyLost", "5m", lost_seeds="0x10"),
    fires("OkeyMemberWithoutSealKeys", "6m", unsealed="1x10"),
    is_quiet("OkeyMemberWithoutSealKeys", "10m", unsealed="0x20"),
    is_quiet("OkeyMemberWithoutSealKeys", "10m", unsealed="1x3 0x10"),
    fires("OkeyAuditFinding", "1m", findings="1x5"),
    is_quiet("OkeyAuditFinding", "5m", findings="0x5"),
    # At the first sample that has one, also where the series begins with it.
    fires("OkeyJournalWithoutEvent", "1m", without_event="0 1x5"),
    fires("OkeyJournalWithoutEvent", "0m", without_event="1x5"),
    is_quiet("OkeyJournalWithoutEvent", "5m", without_event="0x5", findings="1x5"),
    is_quiet("OkeyAuditFinding", "5m", without_event="1x5"),
    # The clock of these tests begins at 0, so an audit at second 0 is as old as the test.
    fires("OkeyAuditOverdue", "70m", audited="0x80", audit_failures="0x80"),
    fires("OkeyAuditOverdue", "10m"),
    fires("OkeyAuditOverdue", "30m", audited="0+60x40", audit_failures="0+1x40"),
    is_quiet("OkeyAuditOverdue", "70m", audited="0+60x80", audit_failures="0x80"),
    fires("OkeyLedgerNotSealed", "6m", chain_key="0x10"),
    is_quiet("OkeyLedgerNotSealed", "6m", chain_key="1x10"),
    fires(
        "OkeyClocksRingLate", "15m", late_all="0+60x20", late_half="0+30x20", late_quarter="0x20"
    ),
    is_quiet(
        "OkeyClocksRingLate", "15m", late_all="0+60x20", late_half="0+60x20", late_quarter="0+60x20"
    ),
    fires(
        "OkeyCommandsSlow",
        "15m",
        commands_all="0+60x20",
        commands_half="0+30x20",
        commands_quarter="0x20",
    ),
    is_quiet(
        "OkeyCommandsSlow",
        "15m",
        commands_all="0+60x20",
        commands_half="0+60x20",
        commands_quarter="0+60x20",
    ),
    fires("OkeyEventLoopLate", "15m", lag_all="0+60x20", lag_half="0+60x20", lag_tenth="0+10x20"),
    is_quiet(
        "OkeyEventLoopLate", "15m", lag_all="0+60x20", lag_half="0+60x20", lag_tenth="0+60x20"
    ),
    fires("OkeyEngineStandsStill", "1m", standing="20x5"),
    is_quiet("OkeyEngineStandsStill", "1m", standing="3x5"),
    fires("OkeyEngineStandsStillOften", "10m", stood="0+12x20"),
    is_quiet("OkeyEngineStandsStillOften", "10m", stood="0+1x20"),
    fires("OkeyEngineFails", "5m", failed="0+1x10"),
    # One failure, the first of its kind, is seen: the series was there before, at 0 ...
    fires("OkeyEngineFails", "7m", failed="0x5 1x5"),
    # ... and would not be, had it begun with the failure (test_births.py).
    is_quiet("OkeyEngineFails", "7m", failed="_x5 1x5"),
    is_quiet("OkeyEngineFails", "5m", failed="3x10", accepted="0+60x10"),
    fires("OkeySlowReaders", "20m", cut="0+90x30"),
    is_quiet("OkeySlowReaders", "20m", cut="0+10x30"),
    fires("OkeyRatingNotScraped", "6m"),
    fires("OkeyRatingNotScraped", "6m", engine_lag="0+2x10"),
    is_quiet("OkeyRatingNotScraped", "6m", rating_lag="0+2x10"),
    fires("OkeyRelayStuck", "3m", waiting="40+60x5"),
    is_quiet("OkeyRelayStuck", "3m", waiting="2x5"),
    fires("OkeyRelayUncertain", "15m", uncertain="0+90x20"),
    is_quiet("OkeyRelayUncertain", "15m", uncertain="0+20x20"),
    fires("OkeyEngineNotScraped", "4m"),
    is_quiet("OkeyEngineNotScraped", "60m", waiting="0x70"),
    # Nothing of ours tells anything any more.
    fires("OkeyEngineNotScraped", "60m", engine_lag="0+2x5", waiting="0x5"),
    fires("OkeyWalletNotScraped", "4m", waiting="0x5"),
    is_quiet("OkeyWalletNotScraped", "4m", chain_key="0x5"),
    fires("OkeyBotsNotScraped", "4m", engine_lag="0+2x5"),
    is_quiet("OkeyBotsNotScraped", "4m", bots_lag="0+2x5"),
    fires("OkeyTableQuarantined", "2m", quarantined="1x5"),
    is_quiet("OkeyTableQuarantined", "2m", quarantined="0x5"),
    fires("OkeyTablesOverdue", "5m", overdue="0x1 3x6"),
    is_quiet("OkeyTablesOverdue", "5m", overdue="0x1 3x0 0x6"),
    fires("OkeyTablesNotLoaded", "12m", unloaded="7x15"),
    is_quiet("OkeyTablesNotLoaded", "12m", unloaded="7x5 0x10"),
    fires("OkeyLobbyListOld", "4m", list_as_of="0+60x2 120x10"),
    is_quiet("OkeyLobbyListOld", "4m", list_as_of="0+60x10"),
    fires("OkeyLobbyNotCounting", "10m", uncounted="0x4 1+5x15"),
    is_quiet("OkeyLobbyNotCounting", "10m", uncounted="3x20"),
    fires("OkeyLobbyNotScraped", "6m"),
    is_quiet("OkeyLobbyNotScraped", "6m", list_as_of="0+60x10"),
    # A week is 604,800 s; the tests' clock begins at 0.
    fires("OkeyCertificateEndsSoon", "15m", ends="600000x20"),
    is_quiet("OkeyCertificateEndsSoon", "15m", ends="700000x20"),
    fires("OkeyCertificateEnded", "15m", ends="600x20"),
    is_quiet("OkeyCertificateEnded", "15m", ends="1200x20"),
    fires("OkeyRevocationsStale", "10m", revocations_age="0+60x12"),
    is_quiet("OkeyRevocationsStale", "10m", revocations_age="1x12"),
    fires("OkeyServiceBusy", "15m", busy="0x5 1+1x15"),
    is_quiet("OkeyServiceBusy", "15m", busy="7x20"),
    fires("OkeyPlayersRateLimited", "45m", too_fast="0+600x50"),
    is_quiet("OkeyPlayersRateLimited", "45m", too_fast="0+60x50"),
    fires("OkeyHouseBankLow", "10m", bank="-9000000x20", floor="-10000000x20"),
    fires("OkeyHouseBankLow", "10m", bank="-11000000x20", floor="-10000000x20"),
    is_quiet("OkeyHouseBankLow", "10m", bank="500000x20", floor="-10000000x20"),
    fires("OkeyEdgeNotScraped", "10m", edge_lives="1x2"),
    is_quiet("OkeyEdgeNotScraped", "10m", edge_lives="1x12"),
    is_quiet("OkeyEdgeNotScraped", "10m", other_envoy_lives="1x2"),
    fires("OkeyEdgeFindsNobody", "5m", edge_sees="2 0x10", another_edge_sees="0x10"),
    is_quiet("OkeyEdgeFindsNobody", "5m", edge_sees="0x10", another_edge_sees="2x10"),
    fires(
        "OkeyEdgeFails",
        "10m",
        edge_calls="0+60x20",
        edge_found_nobody="0+6x20",
        edge_gave_up="0x20",
    ),
    fires("OkeyEdgeFails", "10m", edge_calls="0+60x20", edge_gave_up="0+6x20"),
    is_quiet(
        "OkeyEdgeFails",
        "10m",
        edge_calls="0+60x20",
        edge_found_nobody="0+1x20",
        edge_gave_up="0+1x20",
    ),
    # Of a handful of calls a share says nothing.
    is_quiet("OkeyEdgeFails", "10m", edge_calls="0+6x20", edge_gave_up="0+6x20"),
    fires("OkeyEdgeFull", "10m", edge_turned_away="0+5x20"),
    fires("OkeyEdgeFull", "10m", edge_heap="1x20"),
    is_quiet("OkeyEdgeFull", "10m", edge_turned_away="7x20", edge_heap="0x20"),
    fires("OkeyEdgeCertificateEndsSoon", "15m", edge_certificate="6x20"),
    is_quiet("OkeyEdgeCertificateEndsSoon", "15m", edge_certificate="7x20"),
    fires("OkeyEdgeCertificateEnds", "5m", edge_certificate="0x20"),
    is_quiet("OkeyEdgeCertificateEnds", "5m", edge_certificate="1x20"),
    fires("OkeyMigrationFailed", "5m", job_failed="0 1x10", tries_failed="1x10"),
    fires("OkeyMigrationFailed", "5m", tries_failed="0 1 2 3x10", job_succeeded="0x20"),
    is_quiet("OkeyMigrationFailed", "5m", job_failed="0x10", tries_failed="2x10"),
    is_quiet("OkeyMigrationFailed", "5m", tries_failed="3x10", job_succeeded="0 1x10"),
    is_quiet("OkeyMigrationFailed", "5m", other_job_failed="1x10"),
    fires("OkeyOneEngineLeft", "20m", members="3x5 1x20"),
    is_quiet("OkeyOneEngineLeft", "20m", members="3x5 2x20"),
    # A platform of one engine, as for trials.
    is_quiet("OkeyOneEngineLeft", "20m", members="1x30"),
    fires("OkeyShardsUnowned", "4m", unowned="0 85x5", lease_age="1x6"),
    # For as long as a take-over lasts nobody has them.
    is_quiet("OkeyShardsUnowned", "4m", unowned="0x2 85 0x5", lease_age="1x8"),
    is_quiet(
        "OkeyShardsUnowned",
        "4m",
        unowned="85x6",
        lease_age="30+60x6",
        unowned_elsewhere="0x6",
        lease_age_elsewhere="1x6",
    ),
)
