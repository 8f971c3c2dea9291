# Everything a developer does with the repository; `make help` lists it.
# `run` and `test` need only Python 3.11 and make: they set themselves up first. To run takes a fifth of what it takes
# to develop, so `run` installs that alone.

PYTHON ?= $(firstword $(foreach each,python3.11 python3.12 python3.13 python3,$(shell command -v $(each))))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNS := $(VENV)/.runs
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
TYPED := libs services tools deploy examples tests

.DEFAULT_GOAL := help
.PHONY: help setup lock run cluster edge attack demo test test-core test-rest test-system test-hard \
	test-newest test-python test-browser test-all format lint protos protos-check \
	protos-breaking protos-release \
	bench arena mutations soak chaos chaos-tables rollout manifests manifests-check sbom deploy-check \
	docs-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv from the locks (done again only when they change)
$(STAMP): requirements/dev.txt
	$(call INSTALL,everything to develop it,1.1 GB,-r requirements/dev.txt)
	touch $(RUNS) $@

$(RUNS): requirements/runtime.txt requirements/build.txt
	$(call INSTALL,what it runs on,200 MB,-r requirements/runtime.txt -r requirements/build.txt)
	touch $@

# What, how much, and of which locks.
define INSTALL
@$(BIN)/python -c '$(IS_USABLE)' 2>/dev/null || { $(FIND_PYTHON); set -x; $(PYTHON) -m venv --clear $(VENV); }
@echo "Installing $(1) into $(VENV) ($(2), for some minutes where the network is slow) ..."
$(PIP) install --require-hashes $(3)
$(PIP) install --no-deps --no-build-isolation --editable .
endef

# What an interrupted start has left behind may have a python and half a pip, whose RECORD comes last, or
# a python that is still the one it was made from: pip would install into that.
IS_TOO_OLD := sys.version_info < (3, 11)
IS_BROKEN := sys.prefix == sys.base_prefix or m.files("pip") is None
IS_USABLE := import importlib.metadata as m, sys; sys.exit($(IS_TOO_OLD) or $(IS_BROKEN))
define FIND_PYTHON
if test -z "$(PYTHON)"; then \
	echo "No Python found on the PATH: install 3.11 or newer, or name one with PYTHON=<path>." >&2; exit 1; fi; \
$(PYTHON) -c 'import sys; sys.exit($(IS_TOO_OLD))' || { \
	echo "$(PYTHON) is no Python of 3.11 or newer: install one, or name one with PYTHON=<path>." >&2; exit 1; }
endef

lock: ## write the locks from pyproject.toml anew (needs uv on the PATH)
	uv pip compile $(LOCK_FLAGS) -o requirements/runtime.txt pyproject.toml
	uv pip compile $(LOCK_FLAGS) -c requirements/runtime.txt --extra dev -o requirements/dev.txt pyproject.toml
	echo hatchling | uv pip compile $(LOCK_FLAGS) -c requirements/dev.txt -o requirements/build.txt -
LOCK_FLAGS := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	--no-annotate

run: $(RUNS) ## start the platform on this machine, with embedded databases
	$(BIN)/python -m services.standalone

cluster: setup ## start it as in production, several of each service on one PostgreSQL, to watch and to kill
	$(BIN)/python -m services.standalone --cluster

edge: setup ## Envoy before the cluster that runs, configured as in production, at 127.0.0.1:7590 (EDGE_OF=.okey: before make run)
	$(BIN)/python -m tools.edge --data-dir $(EDGE_OF)
EDGE_OF := .okey/cluster

demo: setup ## start the platform and play whole matches with real clients
	$(BIN)/okeyctl demo

test: test-core test-rest ## every quick test; the pure core must be covered to 100 %

QUICK := -q -n 2 -p tests.progress --durations=20

test-core: setup ## unit tests of libs/okey; its lines and branches to 100 %
	$(BIN)/python -m pytest tests/unit $(QUICK) -m "core and not long" --cov --cov-report=term

test-rest: setup ## every other quick test: boundaries, services, databases, processes
	$(BIN)/python -m pytest tests $(QUICK) -m "not core and not long and not system"

test-hard: setup ## `make test` ten times over, in random order, on busy cores, as nice as can be (HARD_TIMES, HARD_SEED)
	$(BIN)/python -m tests.hard --times $(HARD_TIMES) --seed $(HARD_SEED)
HARD_TIMES := 10
HARD_SEED := 1

test-system: setup ## the platform as processes: whole matches, who is refused, kill -9 while money moves, attacks
	$(BIN)/python -m pytest tests/e2e tests/attack tests/chaos/money $(QUICK) -m "system and not long"

test-newest: ## units and security on the newest Python of the machine, up to 3.13, in .venv-newest
	$(MAKE) VENV=.venv-newest PYTHON="$$(tools/newest_python.sh)" test-python
test-python: setup
	$(BIN)/python --version
	$(BIN)/python -m pytest tests/unit tests/security $(QUICK) -m "not long and not system"

test-browser: setup ## the page in a browser: whole matches, fingers, keys, phones, access (needs chromium)
	$(BIN)/python -m pytest tests/browser -q -m ""

test-all: setup ## all tests, the long and the whole-system ones too
	$(BIN)/python -m pytest tests -q -m "" --hypothesis-profile=long

format: setup ## format the Python files and the protos
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/buf format --write protos

lint: setup ## formatting, ruff, mypy --strict and buf
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/buf format --diff --exit-code protos
	mkdir -p build
	$(BIN)/python tools/protos.py image build/protos.binpb
	$(BIN)/buf lint build/protos.binpb --path okey/api --config buf.yaml

protos: setup ## generate the Python stubs and the reference pages from protos/
	$(BIN)/python tools/protos.py generate
	$(BIN)/python -m tools.reference generate

protos-check: setup ## fail if stubs or reference pages are not what protos/ and docs/api.md give
	$(BIN)/python tools/protos.py check
	$(BIN)/python -m tools.reference check

protos-breaking: setup ## fail if a change of protos/ breaks callers of the released interface
	$(BIN)/python tools/protos.py breaking

protos-release: setup ## make protos/ as it is the released interface, that later ones must not break
	$(BIN)/python tools/protos.py release

bench: setup ## measure hands, core, wallet, ratings, quick match, engine and gateway, each beside a reference
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.hands
	$(BIN)/python -m tests.bench.audit
	$(BIN)/python -m tests.bench.wallet
	$(BIN)/python -m tests.bench.rating
	$(BIN)/python -m tests.bench.rating_population
	$(BIN)/python -m tests.bench.lobby
	$(BIN)/python -m tests.bench.engine $(BENCH_ENGINE)
	$(BIN)/python -m tests.bench.gateway

arena: setup ## how strong the bots are, with 95 % intervals, on deals nothing was tuned on (2 h of CPU)
	$(BIN)/python -m tests.bench.arena $(if $(ARENA_DEALS),--deals $(ARENA_DEALS))

mutations: setup ## take each safeguard out of the ledger; a named test must go red
	$(BIN)/python -m tests.mutations

soak: setup ## 2,000 times kill -9 of engine, wallet and PostgreSQL while money moves (stops by itself)
	$(BIN)/python -m tests.chaos.money.soak --kills $(SOAK_KILLS) --minutes $(SOAK_MINUTES) --seed $(SOAK_SEED)
SOAK_KILLS := 2000
SOAK_MINUTES := 180
SOAK_SEED := 1

chaos: setup ## three engines, 200 tables, checking clients, every fault; needs root, nftables and libfaketime
	$(BIN)/python -m tests.chaos.cluster.run --tables $(TABLES) --minutes $(MINUTES) --seed $(SEED)

chaos-tables: setup ## the same with one engine, which is killed and paused, and a database that is
	$(BIN)/python -m tests.chaos.tables.run --tables $(TABLES) --minutes $(MINUTES) --seed $(SEED)
attack: setup ## every known attack on a cluster behind Envoy, and what it costs; needs root and iproute2
	$(BIN)/python -m tests.attack $(if $(ATTACK_ONLY),--only $(ATTACK_ONLY)) --seconds $(ATTACK_SECONDS)
ATTACK_SECONDS := 4

rollout: setup ## restart everything one by one behind Envoy, while people play through it
	$(BIN)/python -m tests.chaos.cluster.rollout --tables $(ROLLOUT_TABLES) --seed $(SEED)
ROLLOUT_TABLES := 60
TABLES := 200
MINUTES := 5
SEED := 1

manifests: setup ## make the manifests, rules and dashboards that follow from others
	$(BIN)/python -m tools.manifests generate

manifests-check: setup ## fail if one of them is not what its source gives
	$(BIN)/python -m tools.manifests check

sbom: setup ## what the image is made of, as CycloneDX (build/sbom.json); ROOT=<its root> adds what its base brings
	mkdir -p build
	$(BIN)/cyclonedx-py requirements requirements/runtime.txt --pyproject pyproject.toml \
		--output-reproducible --of JSON -o build/sbom.json
	$(if $(ROOT),$(BIN)/python -m tools.sbom build/sbom.json $(ROOT))

deploy-check: setup ## build and validate every kustomization, start each service from its manifest, roll all out behind Envoy
	$(BIN)/python -m pytest tests/deploy -q -m ""
	$(BIN)/python -m pytest tests/chaos/cluster/test_rollout.py -q -m "not long"

docs-check: setup ## run the commands of README, docs and examples against a platform, check every link
	$(BIN)/python -m pytest tests/docs -q -m ""

clean: ## remove what was made here, .venv too; .okey/, the platform's data, stays
	rm -rf .venv .venv-newest build dist .coverage .coverage.* htmlcov .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
