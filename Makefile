# The front of the two commands: `make demo` and `make test`. What is behind each target is an ordinary test runner
# or script, which can be run alone. Needs Rust, gcc, Python 3 and Node; no pip and no npm on these two.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
BUILT := $(TARGET)/release
PREFIX ?= /usr/local
export CARGO_TARGET_DIR := $(TARGET)
export PYTHONPATH := $(CURDIR)/bindings-python/python
export PYTHONDONTWRITEBYTECODE := 1
# The extension links no libpython: the interpreter that loads it brings its own.
export PYO3_BUILD_EXTENSION_MODULE := 1
# A caught panic would print a backtrace and take 80 ms for it.
export RUST_BACKTRACE := 0

CARGO := cargo
RELEASE := $(CARGO) build --locked --release
# Linked with the C library in it: a hook is a process for each event, and half of its start would be the loader's.
STATIC := $(if $(filter Linux,$(shell uname -s)),-- -C target-feature=+crt-static)
CLI := $(CARGO) rustc --locked --release -p gallivant-cli --bin gallivant $(STATIC)
SUPERVISE := $(CARGO) rustc --locked --profile supervise -p gallivant-supervise $(STATIC)

.PHONY: help build demo test check check-all browser packages site bench soak fuzz e2e install clean \
	test-rust test-c test-python test-node test-interop test-examples test-docs check-c check-others check-rust \
	check-python check-node

help:
	@echo 'make demo        build, then replay recorded sessions while a coordinator and a status bar watch, and publish a result'
	@echo 'make test        build, then run the tests of all languages'
	@echo 'make check       what needs pip, npm or valgrind: lints, stubs, types, packages; CI runs it beside the tests'
	@echo 'make check-all   that, the address sanitizer (nightly), the browser, the packages, the site, every pair of languages'
	@echo 'make browser     the example of runs in a browser, in Chromium; part of check-all; GALLIVANT_SKIP_BROWSER=1 leaves it out'
	@echo 'make packages    what is published: wheel, sdist, npm, crates, C tree; built for an old glibc, listed, installed, used'
	@echo 'make site        the documentation as a site with search, below target/site; its links are followed'
	@echo 'make bench       each operation beside its floor in C, as ratios; BENCH=--row NAME for one'
	@echo 'make soak        long runs; SECONDS_TO_RUN=600 and GALLIVANT_SEED=1 by default'
	@echo 'make e2e         the real harnesses, fetched with npm, offline against a fake provider; E2E="--harness codex" for one'
	@echo 'make fuzz        fuzz each parser for SECONDS=60; needs the nightly and cargo-fuzz'
	@echo 'make install     the C library with header, pkg-config file and man page, the supervisor of local runs, and the command'
	@echo '                 gallivant with its manual pages and completions, below PREFIX=$(PREFIX), DESTDIR=$(DESTDIR)'

build:
	$(RELEASE) -p libgallivant -p gallivant-python -p gallivant-node -p gallivant-tests
	$(CLI)
	$(SUPERVISE)
	for place in $(BUILT) bindings-python/python/gallivant bindings-node; do \
		install -m 755 $(TARGET)/supervise/gallivant-supervise $$place/gallivant-supervise; done
	install -m 755 $(BUILT)/libgallivant_native.so bindings-python/python/gallivant/_native.abi3.so
	install -m 755 $(BUILT)/libgallivant_node.so bindings-node/gallivant.linux-$$(node -p process.arch)-gnu.node
	ln -sf libgallivant.so $(BUILT)/libgallivant.so.0
	tests/adapters/c/build.sh
	mkdir -p $(BUILT)/examples
	$(CC) -O2 -Wall -Wextra -Werror -Iinclude examples/c-status-bar/status_bar.c -o $(BUILT)/examples/status-bar \
		-L$(BUILT) -lgallivant -Wl,-rpath,$(BUILT)

demo: build
	python3 examples/demo/demo.py $(BUILT)/examples/status-bar

# The suites of Python, Node and the programs wait more than they work, so that two of them go side by side, the longest
# first.
test: build test-rust test-c
	$(MAKE) --no-print-directory -j2 --output-sync=target test-interop test-node test-python test-examples test-docs
	@echo 'all tests passed'

test-rust:
	$(CARGO) test --locked -p gallivant-core -p libgallivant -p gallivant-cli -p gallivant-tests

test-c:
	tests/c/run.sh plain

test-python:
	python3 -m unittest discover -s bindings-python/tests -t bindings-python

test-node:
	node --test --test-reporter=spec bindings-node/test/

test-interop:
	python3 -m unittest discover -s tests/interop

test-examples:
	python3 -m unittest discover -s examples

test-docs:
	python3 -m unittest discover -s site

# What CI runs beside the tests. Under valgrind one processor is at work, for as long as all the rest takes.
check: build
	$(MAKE) --no-print-directory -j2 --output-sync=target check-c check-others
	@echo 'checked'

check-others: check-rust check-python check-node

check-rust:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked -p gallivant-core -p gallivant-supervise -p libgallivant -p gallivant-cli -p gallivant-tests -p gallivant-benches --all-targets -- -D warnings
	$(CARGO) clippy --locked -p gallivant-python -p gallivant-node --lib -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps -p gallivant-core -p libgallivant

check-c:
	tests/c/run.sh valgrind

check-python:
	bindings-python/check.sh

check-node:
	bindings-node/check.sh

# Beside that a build with the address sanitizer, a browser, the packages, the site, and every pair of languages.
check-all: check
	tests/c/run.sh asan
	$(MAKE) --no-print-directory browser
	$(MAKE) --no-print-directory packages
	$(MAKE) --no-print-directory site
	GALLIVANT_PAIRS=full python3 -m unittest discover -s tests/interop -k two_languages
	@echo 'all checks passed'

browser: build
	bindings-node/browser.sh

# From sources to what a user installs, in a folder of its own: the linker and the builders come from PyPI, once.
packages:
	packages/build.sh $(TARGET)/packages/dist
	python3 packages/check.py $(TARGET)/packages/dist

# mdBook comes from PyPI as a binary, once.
site:
	test -x $(TARGET)/site-tools/bin/mdbook || { python3 -m venv $(TARGET)/site-tools && \
		$(TARGET)/site-tools/bin/pip install --quiet --disable-pip-version-check -r site/tools.txt; }
	python3 site/build.py $(TARGET)/site-tools/bin/mdbook $(TARGET)/site

# Builds first: the table is of what stands here.
bench: build
	$(RELEASE) -p gallivant-benches
	python3 benches/run.py $(BENCH)

SECONDS_TO_RUN ?= 600
soak: build
	tests/soak.sh $(SECONDS_TO_RUN)

# This target alone fetches the harnesses: 1.3 GB, once.
e2e: build
	python3 tests/e2e/run.py $(E2E)
SECONDS ?= 60
fuzz:
	fuzz/run.sh $(SECONDS)

install:
	DESTDIR='$(DESTDIR)' ffi/install.sh '$(PREFIX)'
	DESTDIR='$(DESTDIR)' cli/install.sh '$(PREFIX)'

clean:
	$(CARGO) clean
	rm -f bindings-python/python/gallivant/_native.abi3.so bindings-node/*.node \
		bindings-python/python/gallivant/gallivant-supervise bindings-node/gallivant-supervise
