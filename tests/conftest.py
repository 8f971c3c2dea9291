"""What all tests share: Hypothesis profiles, derandomised so that every run is repeatable."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "quick",
    derandomize=True,
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", settings.get_profile("quick"), max_examples=2_000)
settings.load_profile("quick")
