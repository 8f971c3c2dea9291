"""What keeps the services of a run running."""

from pathlib import Path

import pytest

from services.standalone.ports import free_ports
from tests.chaos.money.processes import Service, ServiceUnusable


@pytest.mark.timeout(60)
async def test_a_service_that_refuses_its_settings_is_not_waited_for(tmp_path: Path) -> None:
    """It would be started again and again, and nobody would be told why nothing begins."""
    address = free_ports(("wallet",))["wallet"].address
    service = Service("wallet", address, {}, lambda: "", tmp_path / "wallet.log")
    try:
        with pytest.raises(ServiceUnusable, match=r"wallet refuses its settings: .*OKEY_"):
            await service.start()
    finally:
        await service.stop()
