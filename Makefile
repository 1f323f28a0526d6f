# SPDX-License-Identifier: Apache-2.0
# The front door. `make help` lists the targets.
BUILD ?= build
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: help deps build check test demo install onefile proof fuzz bench clean
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

deps:
	@tools/deps.sh

## make build   the command at build/samebits, the library, the tests
build: deps
	@test -f $(BUILD)/build.ninja || cmake -S . -B $(BUILD) -G Ninja
	@ninja -C $(BUILD) -j $(JOBS)

## make check   the short tier (under two minutes once built)
check: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -LE slow

## make test    check, the proof grid and the demo
test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)
	@$(MAKE) --no-print-directory demo
	@python3 test/grid.py --build $(BUILD)

## make demo    one language model, two routes, the same bits (under two minutes once built)
demo: build
	@tools/demo.sh $(BUILD)

## make install  the command, libraries, header, pkg-config and CMake files, manual page: PREFIX (/usr/local), DESTDIR
install:
	@test -f $(BUILD)/build.ninja || cmake -S . -B $(BUILD) -G Ninja -DSAMEBITS_TESTS=OFF
	@ninja -C $(BUILD) -j $(JOBS) samebits_command samebits_static samebits_shared
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

## make onefile the library as build/samebits.c and build/samebits.h
onefile:
	@python3 tools/amalgamate.py $(BUILD)

## make proof   everything exhaustive (hours)
proof: build
	@python3 tools/proof.py --build $(BUILD)
	@$(BUILD)/test_soft64 30
	@$(BUILD)/test_residual 30 all
	@cmake -S . -B $(BUILD)-soft64 -G Ninja -DSAMEBITS_LEVELS=soft64 -DSAMEBITS_TESTS=OFF >/dev/null
	@ninja -C $(BUILD)-soft64 -j $(JOBS) samebits_command
	@python3 tools/proof.py --build $(BUILD)-soft64 --levels soft64
	@$(BUILD)/test_function64 --measure 10000000
	@$(BUILD)/test_memory_stress 600
	@python3 test/test_races.py $(BUILD) --all

## make fuzz    every parser under libFuzzer, SECONDS=600 each (fuzz/README.md)
fuzz: deps
	@tools/fuzz.sh build-fuzzer $(or $(SECONDS),600)

## make bench   speed beside the peers, as ratios
bench: build
	@tools/deps.sh libopenblas0-pthread libsleef3 python3-venv || echo "(without them some benches have no peer)" >&2
	@python3 bench/bench.py --build $(BUILD)

clean:
	@rm -rf build build-*
