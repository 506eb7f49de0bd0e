# SPDX-License-Identifier: Apache-2.0
# A thin front to CMake's presets (CMakePresets.json): `make help` says what there is.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# ON: a warning of a compiler is an error, as in CI (.ci/run); users may have a compiler that we do not know.
STRICT ?= OFF
# Several sources are compiled as one: less than half of the time from nothing. OFF for who changes sources and builds again.
UNITY ?= ON
# Of the tests, benches and the demo; LEAT_PYTHON in the environment names another one.
PYTHON = $$(tools/find_python pytest h5py numpy)
SANITIZED = shm_stress_test steering_stress_test

# Where all is configured it stays so.
only = $(if $(shell grep -sx LEAT_ONLY:STRING= build/CMakeCache.txt),,-DLEAT_ONLY=$(1))

FUZZ_SECONDS ?= 60

FUZZED = xml expression events frames turns control messages hello tls

.PHONY: help demo test test-quick build bench bench-rooms bench-schedules install install-debug deb wheel installcheck docs sanitize fuzz soak soak-seeds format check setup clean

help:
	@sed -n 's/^## //p' Makefile

## make demo            install what is missing, build, run the LAMMPS example, show what happened
## make test            install what is missing, build, run all tests
## make test-quick      classes, XML files and the rules of the tree, in what is built: some two minutes
## make build           programs in build/bin, libraries in build/lib
## make fuzz            hostile bytes for the parsers and the server, FUZZ_SECONDS=60 for each target
## make soak-seeds      1,000 servers in a simulated network under 1,000 seeds; SERVERS=1000 SEEDS=1-1000
## make soak            kills, stops, full segments and disks at random moments, for MINUTES=10; a table says what came of it
## make format          C, C++ and Python as .clang-format and ruff.toml say
## make check           what is kept at zero: format, ruff, shellcheck, codespell, clang-tidy; changes nothing
## make bench           Leat beside the alternatives: build/bench/results.md; under 20 minutes, or MINUTES=5 with fewer repetitions
## make bench-schedules what analyses cost simulations on oneTBB and OpenMP, under each schedule
## make bench-rooms     what stores, scripts, checksums, compression and checkpoints cost, each by itself
## make install         to PREFIX=/usr/local, or make install PREFIX=/where/you/like
## make install-debug   the same, and the debug information, where gdb and addr2line find it
## make deb             Debian packages of what is built: build/deb
## make wheel           a Python wheel with all that a run on one node needs: build/wheel
## make installcheck    installs the Debian packages into a bare Debian and tries them there; as root, some minutes
## make clean           remove build/

# Installs and builds only what the demo runs: a newcomer need not wait for the tests.
demo:
	@tools/setup demo
	@cmake --preset release --log-level=WARNING -DLEAT_UNITY=$(UNITY) $(call only,demo)
	@cmake --build --preset release -j $(JOBS) --target leatd leat_plugin_hdf5 leat_command leat_lammps
	@$$(tools/find_python h5py numpy matplotlib) tools/demo

# One more than the cores of the smallest machine: tests wait as often as they compute.
test: build sanitize
	@ctest --test-dir build --output-on-failure --no-tests=error -j 3 || { $(PYTHON) tools/failed_tests build; exit 8; }

# Of what is built: classes (label unit), the cases of the XML and the rules of the tree.
test-quick:
	ctest --test-dir build --output-on-failure --no-tests=error -j 3 -L '^(unit|config|rules)$$'

build: setup
	@cmake --preset release --log-level=WARNING -DCMAKE_COMPILE_WARNING_AS_ERROR=$(STRICT) -DLEAT_UNITY=$(UNITY) -DLEAT_ONLY=
	@cmake --build --preset release -j $(JOBS)

# The rings, the arena and steering under the address, undefined-behaviour and thread sanitizers; the soak has the server under the last.
# Of undefined behaviour without what the address sanitizer sees as well, and what takes long to compile; `make fuzz` has all of it.
sanitize: setup
	@for kind in asan tsan; do \
	  cmake --preset $$kind --log-level=WARNING -DLEAT_UNITY=$(UNITY) > /dev/null && \
	  cmake --build --preset $$kind -j $(JOBS) --target $(SANITIZED) && \
	  for program in $(SANITIZED); do build/$$kind/bin/$$program --gtest_brief=1 || exit 1; done || exit 1; \
	done
	@cmake --build --preset asan -j $(JOBS) --target $(FUZZED:%=fuzz_%)
	@build/asan/bin/fuzz_xml tests/fuzz/corpus/xml tests/config 2>/dev/null
	@for target in expression events frames turns; do \
	  (cd build/asan && bin/fuzz_$$target ../../tests/fuzz/corpus/$$target 2>/dev/null) || exit 1; \
	done

# Searches for new inputs from those that are kept; what it finds lies in build/fuzz/findings.
fuzz:
	@tools/setup fuzz
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build --preset fuzz -j $(JOBS) --target $(FUZZED:%=fuzz_%)
	@tools/fuzz $(FUZZ_SECONDS) $(FUZZED)

# make soak SEED=17 makes the same turns again; without one each soak is another.
# Keeps the folders of what went wrong in /tmp/leat-soak/<seed>. First the server and threads of the C++ API under the thread sanitizer: to
# build them takes minutes.
soak: build
	@cmake --preset tsan --log-level=WARNING -DLEAT_UNITY=$(UNITY) > /dev/null
	@cmake --build --preset tsan -j $(JOBS) --target cpp_calls
	@ctest --test-dir build/tsan --output-on-failure --no-tests=error -R '^cpp\.calls$$'
	@$(PYTHON) tests/soak/soak.py --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

# The servers of a run in a simulated network: all seeds take hours. SEEDS=31-40 are the first and the last; each says how it ends.
soak-seeds: build
	@$(PYTHON) tests/soak/simulated.py --servers $(or $(SERVERS),1000) --seeds $(or $(SEEDS),1-1000) --jobs $(JOBS)

# On the disk that build/ is on. What it compares Leat to is installed as far as it can be had; nothing else needs it.
bench:
	@tools/setup bench
	@tools/python_environment tools/bench.txt > /dev/null || echo "make bench goes on without ADIOS2." >&2
	@for each in dask deisa; do tools/python_environment tools/$$each.txt > /dev/null || echo "make bench goes on without $$each of PyPI." >&2; done
	@$(MAKE) --no-print-directory build
	@$(PYTHON) tests/bench/run.py build/bench $(if $(MINUTES),--minutes $(MINUTES))

bench-rooms: build
	@build/bin/leat_checksum_bench build/bench_checksum.json
	@build/bin/leat_compression_bench build/bench_compression.json
	@build/bin/leat_store_bench build/lib/leat/plugins/hdf5.so build build/bench_store.json
	@build/bin/leat_keep_up_bench build build/bench_keep_up.json
	@cd build/tests/bench && taskset -c 0 ../../bin/leat_fortran_bench
	@$(PYTHON) tests/bench/scripts_bench.py build build/bench_scripts.json
	@$(PYTHON) tests/bench/graph_bench.py build build/bench_graph.json
	@$(PYTHON) tests/bench/derive_bench.py build
	@$(PYTHON) tests/bench/fields_bench.py build
	@$(PYTHON) tests/bench/checkpoint_bench.py build build/bench_checkpoint.json

# On the cores that this shell may use. Tables and picture: build/bench/schedules.md and .png.
bench-schedules: build
	@$(PYTHON) tests/bench/schedules_bench.py build/bench $(REPETITIONS)

# Without the tests, and what these need.
install:
	@tools/setup products
	@cmake --preset release --log-level=WARNING -DLEAT_UNITY=$(UNITY) $(call only,products)
	@cmake --build --preset release -j $(JOBS)
	@cmake --install build --prefix "$(PREFIX)"
	@tools/after_install "$(abspath $(PREFIX))"

install-debug: install
	@cmake --install build --prefix "$(PREFIX)" --component debug

deb: build
	@tools/packages/make_deb build

wheel: build
	@environment=$$(tools/python_environment tools/wheel.txt) && "$$environment/bin/python" tools/packages/make_wheel build

installcheck: deb
	@tools/packages/try_in_chroot build/deb

docs:
	@tools/make_site build/site

format:
	@tools/setup check
	@tools/format

check:
	@tools/setup check
	@tools/check

setup:
	@tools/setup

clean:
	@cmake -E rm -rf build
