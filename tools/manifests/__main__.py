"""Make the manifests that follow from others.

python -m tools.manifests generate    write them anew
python -m tools.manifests check       exit 1 if one is not what its source gives
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.manifests import alerts, client, dashboards, edges, envoy, slo
from tools.manifests.edge_settings import SETTINGS, EdgeSettings
from tools.manifests.yaml_text import made_from, made_once_from

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"


def files() -> Iterator[tuple[Path, str]]:
    """Each file that is made, and its text; later ones follow from earlier ones."""
    yield DEPLOY / "rules" / "slo.yaml", made_from("tools/manifests/slo.py", slo.rules())
    policies = edges.policies(edges.Edges.read(DEPLOY / "edges.yaml"))
    yield (
        DEPLOY / "components" / "network-policies" / "policies.yaml",
        made_from("deploy/edges.yaml", *policies),
    )
    rules = alerts.prometheus_rules(sorted((DEPLOY / "rules").glob("*.yaml")))
    yield (
        DEPLOY / "components" / "monitoring" / "rules.yaml",
        made_from("deploy/rules", *rules),
    )
    for name, config in envoy.deployed_files().items():
        file = DEPLOY / "components" / "edge" / name
        yield file, made_once_from("tools/manifests/envoy.py", config)
    for settings in sorted((DEPLOY / "overlays").glob(f"*/{SETTINGS}")):
        for name, config in EdgeSettings.read(settings).component().items():
            yield settings.with_name(name), made_once_from(SETTINGS, config)
    yield DEPLOY / "client" / "service-config.json", client.text()
    for board in dashboards.DASHBOARDS:
        yield DEPLOY / "dashboards" / f"{board.name}.json", dashboards.text(board)


def stale() -> list[Path]:
    """The files that are not what their sources give."""
    return [file for file, text in files() if not file.exists() or file.read_text("utf-8") != text]


def main() -> int:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("generate", "check"))
    if parser.parse_args().action == "generate":
        for file, text in files():
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
        return 0
    for file in (found := stale()):
        print(f"{file.relative_to(DEPLOY)} is stale: run python -m tools.manifests generate")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
