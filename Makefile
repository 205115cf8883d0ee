# Commands for contributors. `make help` lists the targets; all output goes to .venv, target and build.

PYTHON ?= python3
FUZZ_SECONDS ?= 60
TAMIS_FUZZ_CASES ?= 10000
# The Python for public engines; a-tree is published for 3.13 and newer only.
PEERS_PYTHON ?= $(PYTHON)
PEERS := $(wildcard benchmarks/experiments/peers/*.toml)
MILLIONS := $(wildcard benchmarks/experiments/*.toml)

VENV := .venv
BIN := $(VENV)/bin
CARGO_FUZZ := $(or $(shell command -v cargo-fuzz),build/tools/bin/cargo-fuzz)
# Includes directories, so that a removed file triggers a build.
RUST_SOURCES := $(shell find crates -type d -o -name '*.rs' -o -name Cargo.toml)

export PYTHON
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
unexport CONDA_PREFIX

NEEDS := python rust
bench-full demo test pipeline check: NEEDS += java
fuzz: NEEDS += nightly

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SILENT:
.DELETE_ON_ERROR:
.PHONY: help demo test test-rust pipeline serve console check lint types docs format licenses fuzz bench bench-full peers clean require build

help: ## list the targets
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: require build $(VENV)/.extra-spark ## match events on a local Spark session
	$(BIN)/python examples/demo.py

test: require build $(VENV)/.extra-spark $(VENV)/.extra-serve $(VENV)/.extra-client $(VENV)/.extra-notebooks test-rust ## run the Rust and Python tests
	echo "-- Python tests"
	$(BIN)/pytest -q -n 2 --dist loadgroup

test-rust: require $(BIN)/python ## run the Rust tests alone; needs no Java
	echo "-- Rust tests"
	cargo test --locked --workspace --quiet

pipeline: require build $(VENV)/.extra-spark $(VENV)/.extra-connect ## the long tests of the Spark pipeline: kills, Kafka, Delta, a cluster
	TAMIS_LONG=1 $(BIN)/pytest -q --durations 15 tests/spark

serve: require build $(VENV)/.extra-serve $(VENV)/.extra-client $(VENV)/.extra-dev ## the long tests of the server: kills, attacks, 10,000 connections
	TAMIS_LONG=1 $(BIN)/pytest -q --durations 15 tests/serve

console: require build $(VENV)/.extra-serve $(VENV)/.extra-client $(VENV)/.extra-console ## test the console in a headless browser; skipped if there is no Chromium
	mkdir -p build/console
	cd build/console && npm pack --silent axe-core@4 > /dev/null && tar xzf axe-core-4*.tgz package/axe.min.js
	TAMIS_CONSOLE=$(CURDIR)/build/console $(BIN)/pytest -q -rs tests/serve/test_console.py

check: require lint types test docs ## everything that must pass before a merge
	if (command -v chromium && command -v chromedriver && command -v npm) > /dev/null; then $(MAKE) console; \
	else echo "-- no Chromium, its driver or npm: the console is not tested"; fi

lint: require $(VENV)/.extra-dev
	echo "-- format and lints"
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	# The engine without features, and with each feature alone.
	for features in "" arrow xml; do \
		cargo rustc --locked --quiet -p tamis --lib --profile check --no-default-features --features "$$features" -- -D warnings || exit; \
	done
	for crate in tamis-language tamis-graph; do \
		cargo rustc --locked --quiet -p $$crate --lib --profile check --no-default-features -- -D warnings || exit; \
	done
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check --quiet .
	$(BIN)/python scripts/licenses.py check
	$(BIN)/python scripts/docstrings.py check

types: require build $(VENV)/.extra-spark $(VENV)/.extra-serve $(VENV)/.extra-client
	echo "-- types and stub"
	$(BIN)/mypy --no-error-summary
	$(BIN)/python -m mypy.stubtest --concise --mypy-config-file pyproject.toml tamis._tamis

docs: require build $(VENV)/.extra-docs ## build the site into build/site, and the Rust docs
	echo "-- docs"
	mkdir -p build
	# `--quiet` would switch `--strict` off, so the log is kept and shown on failure.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict > build/mkdocs.log 2>&1 || { cat build/mkdocs.log; exit 1; }
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet

licenses: require $(VENV)/.extra-dev ## write the license notices of the wheel's dependencies
	$(BIN)/python scripts/licenses.py write

format: require $(VENV)/.extra-dev ## format the sources, fix what lints can fix, copy docstrings from the stub
	$(BIN)/python scripts/docstrings.py write
	cargo fmt --all
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format --quiet .

fuzz: require build $(CARGO_FUZZ) ## long property campaigns, then the fuzz targets
	echo "-- $(TAMIS_FUZZ_CASES) cases per property"
	PROPTEST_CASES=$(TAMIS_FUZZ_CASES) cargo test --locked --workspace --quiet
	TAMIS_FUZZ_CASES=$(TAMIS_FUZZ_CASES) $(BIN)/pytest -q -n 2 --dist loadgroup --hypothesis-profile=fuzz
	for target in parse encoding event arrow xml xpath files patterns; do \
		echo "-- fuzz target $$target, $(FUZZ_SECONDS) s"; \
		PATH="$(CURDIR)/build/tools/bin:$$PATH" cargo +nightly fuzz run $$target -- \
			-max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 || exit; \
	done

bench: require build $(VENV)/.extra-lab $(VENV)/.extra-serve ## the papers' figures, and the engine against its references, scaled down
	$(BIN)/tamis lab run all --scale small --records build/record
	$(BIN)/tamis lab draw --scale small --records build/record --out build/lab/small
	$(BIN)/tamis lab report build/lab/small/report.html --scale small --records build/record
	for setting in "conjunctive 100000" "dense 100000"; do \
		cargo run --locked --release --quiet -p tamis-lab --bin engine -- $$setting || exit; \
	done
	cargo run --locked --release --quiet -p tamis-lab --bin values -- 100000
	if command -v wrk > /dev/null; then $(BIN)/python benchmarks/serve.py; else echo "-- no wrk: the server is not measured"; fi
	$(BIN)/python benchmarks/life.py 200000
	cargo run --locked --release --quiet -p tamis-lab --bin patterns
	$(BIN)/python benchmarks/detections.py

bench-full: require build $(VENV)/.extra-spark $(VENV)/.extra-lab ## everything at full scale: also millions of expressions, the language, XML, Spark
	$(BIN)/tamis lab run all $(MILLIONS)
	$(BIN)/tamis lab draw all $(MILLIONS)
	$(BIN)/tamis lab report build/lab/report.html all $(MILLIONS)
	cargo bench --locked -p tamis
	cargo bench --locked -p tamis-lab --bench xml
	for setting in "conjunctive 100000" "conjunctive 1000000" "conjunctive 10000000 compact index" "dense 100000" \
		"abe-gen 100000" "ads-like 1392196"; do \
		cargo run --locked --release --quiet -p tamis-lab --bin engine -- $$setting || exit; \
	done
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/rules.py
	$(BIN)/python benchmarks/life.py
	$(BIN)/python benchmarks/spark.py

peers: require build $(VENV)/.extra-lab ## compare public engines with ours, in a separate environment
	$(PEERS_PYTHON) -m venv build/peers
	$(BIN)/python scripts/extras.py cli arrow peers > build/peers/requirements.txt
	build/peers/bin/python -m pip install --requirement build/peers/requirements.txt
	PYTHONPATH=python build/peers/bin/python -m tamis lab run $(PEERS)
	$(BIN)/tamis lab draw $(PEERS) --out build/lab/peers
	if [ -n "$$SIGMA" ]; then \
		cargo build --locked --release --quiet --manifest-path benchmarks/peers/rsigma/Cargo.toml --target-dir build/rsigma && \
		RSIGMA=build/rsigma/release/rsigma-peer $(BIN)/python benchmarks/detections.py 3500; \
	else echo "-- no SIGMA=FOLDER: rsigma is not measured"; fi

clean: ## remove everything that was built
	rm -rf $(VENV) build target fuzz/target python/tamis/*.so
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache

require:
	scripts/require.sh $(NEEDS)

build: $(VENV)/.native

# Stamps are inside the environment that they describe, so they are removed with it.

$(VENV)/.native: $(RUST_SOURCES) Cargo.toml Cargo.lock pyproject.toml $(VENV)/.extra-dev $(VENV)/.extra-cli $(VENV)/.extra-lab
	echo "-- building the native module"
	$(BIN)/maturin develop --release --quiet
	touch $@

$(VENV)/.extra-%: pyproject.toml scripts/extras.py | $(BIN)/python
	echo "-- installing the tools for $*"
	$(BIN)/python scripts/extras.py $* > $(VENV)/$*.txt
	$(BIN)/python -m pip install --requirement $(VENV)/$*.txt
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv --clear $(VENV)

build/tools/bin/cargo-fuzz:
	echo "-- installing cargo-fuzz into build/tools"
	cargo install --quiet --locked --root build/tools cargo-fuzz
