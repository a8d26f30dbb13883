# PYTHON makes the virtual environment (3.11 or later); VENV is where it goes.
PYTHON ?= python3
VENV ?= .venv
# Extras that are installed with mpu; "test" alone leaves out the compiled kernels.
EXTRAS ?= test,fast
# Tools that mpu is compared with get an environment of their own.
PEERS ?= .venv-peers
# What installs into the environment: .ci/run has something faster.
INSTALL_WITH ?= $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
# 0 leaves the scripts of the gallery unrun, as tests/examples runs them.
GALLERY ?= 1
# How long each target is fuzzed; what it found stays in fuzz/results.
FUZZ_SECONDS ?= 60
# Which tests `make test` runs: all, unless told otherwise.
TESTS ?=
# In how many processes the tests run: auto is as many as there are cores.
WORKERS ?= auto
# What `make dist` has beside the code.
COMPLETIONS := share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d
# A file of versions to install: requirements-dev.txt has those that the extras in LOCKED were last tried with.
LOCK ?=
LOCKED := test fast lint docs dist
PYTEST = $(VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal
# Neither tests that take seconds nor many examples of each property.
QUICK := -m 'not slow' --hypothesis-profile quick

# Which kernel OpenBLAS takes goes by the processor, and what overflows or rounds goes by the kernel. Nehalem's is in every
# build for x86-64; where there is no such kernel, OpenBLAS says so and takes the processor's own.
BLAS_KERNEL ?= Nehalem
# Tests of what each kernel computes, and of what overflows.
BLAS_TESTS := tests/core/kernels tests/core/test_linear_model.py tests/core/test_sgd.py tests/core/test_stacking.py \
	tests/core/test_training.py tests/core/test_training_edge_cases.py

# Uncompiled, numbers overflow as they are meant to, but with a warning, and tests of whole files would take hours.
KERNEL_TESTS := tests/svmlight/test_parser.py tests/svmlight/test_reader.py \
	tests/core/kernels tests/core/test_sgd.py -k "not shared and not digits and not threads" \
	-W ignore::RuntimeWarning

# Without bytecode, each of the hundreds of processes that tests start compiles the package again, and pytest the tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo test test-all test-blas test-bounds endurance fuzz lint docs man dist lock rcv1 rcv1-small bench bench-full bench-many clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/installed-$(EXTRAS)  ## Make the virtual environment .venv and install mpu into it

demo: venv  ## Run all steps on the digits in data/, with results in demo/
	MPU=$(VENV)/bin/mpu PYTHON=$(VENV)/bin/python data/demo.sh

test: venv  ## Run the tests except the slow ones, on all cores (some minutes)
	$(PYTEST) $(QUICK) $(TESTS)

test-all: venv  ## Run all tests, including slow ones
	$(PYTEST)

test-blas: venv  ## Run the tests of kernels with another processor's kernel of OpenBLAS, in two threads
	OPENBLAS_CORETYPE=$(BLAS_KERNEL) $(VENV)/bin/python -c \
		'import scipy.linalg, threadpoolctl; print(*(pool.get("architecture") for pool in threadpoolctl.threadpool_info()))'
	OPENBLAS_CORETYPE=$(BLAS_KERNEL) OPENBLAS_NUM_THREADS=2 $(PYTEST) $(QUICK) $(BLAS_TESTS)

test-bounds: $(VENV)/installed-test,fast  ## Run the tests of the compiled kernels with bounds checks, then uncompiled
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=fuzz/results/numba $(VENV)/bin/python -m pytest $(KERNEL_TESTS)
	NUMBA_DISABLE_JIT=1 $(VENV)/bin/python -m pytest $(KERNEL_TESTS)

endurance: venv  ## Kill trainings and workers of a cluster, predict while they run, and predict 10 GB, for about an hour
	$(VENV)/bin/python -m tests.endurance.nights --kills 200
	$(VENV)/bin/python -m tests.endurance.cluster --kills 100
	$(VENV)/bin/python -m tests.endurance.load --processes 50 --seconds 600
	$(VENV)/bin/python -m tests.endurance.stream --gigabytes 10

fuzz: $(VENV)/installed-fuzz  ## Fuzz what reads the files of others, the loaders of models and of vectorisers, and options, FUZZ_SECONDS (60) each
	$(call fuzz,numpy,reading numpy,tests/svmlight/corpus/inputs)
	$(call fuzz,numba,reading numba,tests/svmlight/corpus/inputs)
	$(call fuzz,predictions,files predictions,tests/evaluation/corpus/inputs)
	$(call fuzz,models,files models,tests/bundle/corpus/inputs)
	$(call fuzz,options,options,)
	$(call fuzz,texts,files texts,tests/text/corpus/inputs/texts)
	$(call fuzz,directories,files directories,tests/text/corpus/inputs/directories)
	$(call fuzz,names,files names,tests/names/corpus/inputs)
	$(call fuzz,thesauri,files thesauri,tests/text/corpus/inputs/thesauri)

# fuzz NAME,MODULE,SEEDS: the memory of the process grows slowly with atheris itself, so only large pieces are an error
define fuzz
mkdir -p fuzz/results/$(1)
NUMBA_CACHE_DIR=fuzz/results/numba $(VENV)/bin/python -m fuzz.$(2) -max_total_time=$(FUZZ_SECONDS) -max_len=256 -timeout=30 \
	-rss_limit_mb=0 -malloc_limit_mb=1024 -dict=fuzz/tokens.dict -artifact_prefix=fuzz/results/ fuzz/results/$(1) $(3)
endef

# Tests and documentation may import what only the extras for development bring; the package may not.
lint: $(VENV)/installed-lint  ## Check style, formatting, spelling, types, declared dependencies, that imports point one way, the Containerfile
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/codespell
	$(VENV)/bin/mypy
	$(VENV)/bin/deptry mpu_cli benchmarks fuzz data examples
	$(VENV)/bin/deptry tests docs --ignore DEP002,DEP004
	$(VENV)/bin/lint-imports
	$(VENV)/bin/hadolint examples/Containerfile

# -E reads all pages: of those that it does not read again, Sphinx leaves the index entries out of the search.
docs: $(VENV)/installed-docs  ## Build the site into docs/_build/html; anything doubtful in it is an error
	$(VENV)/bin/python -m sphinx -q -E -W --keep-going -D plot_gallery=$(GALLERY) -b html docs docs/_build/html

man: $(VENV)/installed-docs  ## Build the manual pages into docs/_build/man
	$(VENV)/bin/python -m sphinx -q -W --keep-going -D plot_gallery=0 -b man docs docs/_build/man

dist: $(VENV)/installed-docs,dist  ## Build wheel and source archive, with manual pages and completions, into dist/
	rm -rf dist share build
	$(VENV)/bin/python -m sphinx -q -W --keep-going -D plot_gallery=0 -b man docs share/man/man1
	rm -rf share/man/man1/.doctrees
	mkdir -p $(COMPLETIONS)
	_MPU_COMPLETE=bash_source $(VENV)/bin/mpu > share/bash-completion/completions/mpu
	_MPU_COMPLETE=zsh_source $(VENV)/bin/mpu > share/zsh/site-functions/_mpu
	_MPU_COMPLETE=fish_source $(VENV)/bin/mpu > share/fish/vendor_completions.d/mpu.fish
	$(VENV)/bin/python -m build
	$(VENV)/bin/python -m twine check --strict dist/*

lock: $(VENV)/installed-lock  ## Choose the versions of requirements-dev.txt anew
	$(VENV)/bin/python -m piptools compile --quiet --strip-extras --unsafe-package mpu-cli --no-emit-index-url --no-emit-trusted-host \
		--no-emit-find-links --no-emit-options --upgrade $(LOCKED:%=--extra %) --output-file requirements-dev.txt \
		pyproject.toml

rcv1: venv  ## Fetch the paper's data, RCV1-v2 topics, into data/rcv1/
	$(VENV)/bin/python data/fetch_rcv1.py full

rcv1-small: venv  ## Fetch a small part of it
	$(VENV)/bin/python data/fetch_rcv1.py small

bench: $(VENV)/installed-bench $(PEERS)/installed  ## Compare speed and quality with other tools on 20,000 instances (minutes)
	$(call compare,20000,2)

bench-full: $(VENV)/installed-bench $(PEERS)/installed  ## The same on 804,414 instances, as many as RCV1 has (hours)
	$(call compare,804414,1)

bench-many: $(VENV)/installed-bench $(PEERS)/installed  ## Compare on 4,101 labels, complete and with 60 % missing (half an hour)
	mkdir -p bench/many
	$(VENV)/bin/python -m benchmarks.generate bench/many/q --instances 50000 --test-instances 10000 --labels 4101
	$(VENV)/bin/python -m benchmarks.many_labels bench/many/q-train.svm bench/many/q-test.svm --output bench/many/complete \
		--peers $(PEERS)/bin/python
	$(VENV)/bin/python -m benchmarks.many_labels bench/many/q-train.svm bench/many/q-test.svm --output bench/many/missing \
		--peers $(PEERS)/bin/python --missing 0.6

# compare INSTANCES,REPETITIONS: results go to bench/INSTANCES/
define compare
mkdir -p bench/$(1)
$(VENV)/bin/python -m benchmarks.generate bench/$(1)/rcv1 --instances $(1)
$(VENV)/bin/python -m benchmarks.run bench/$(1)/rcv1-train.svm bench/$(1)/rcv1-test.svm --output bench/$(1) \
	--repetitions $(2) --peers $(PEERS)/bin/python
endef

clean:  ## Remove all that was made here, but not data that was fetched
	rm -rf $(VENV) $(PEERS) bench docs/_build docs/gallery fuzz/results demo build dist share *.egg-info .pytest_cache .ruff_cache .hypothesis \
		.mypy_cache .import_linter_cache
	find mpu_cli benchmarks fuzz tests data -name __pycache__ -prune -exec rm -rf {} +

# One stamp an extra: installed again only when pyproject.toml has changed.
$(VENV)/installed-%: pyproject.toml | $(VENV)/bin/python
	$(INSTALL_WITH) $(LOCK:%=--constraint %) --editable '.[$*]'
	@touch $@

# Line by line: a peer that cannot be installed here must not keep out the others. PECOS needs NumPy 1 and SciPy of then, so
# all have those; it also asks for libraries of neural networks, which its linear methods do not import.
$(PEERS)/installed: benchmarks/peers.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m venv $(PEERS)
	-xargs -L 1 $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check < $<
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'error: $(PYTHON) is not Python 3.11 or later; name one that is: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
