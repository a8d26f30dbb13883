# PYTHON makes the virtual environment (3.11 or later); VENV is where it goes.
PYTHON ?= python3
VENV ?= .venv
# Extras that are installed with mpu; "test" alone leaves out the compiled kernels.
EXTRAS ?= test,fast
# Tools that mpu is compared with get an environment of their own.
PEERS ?= .venv-peers

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo test lint rcv1 rcv1-small bench bench-full clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/installed-$(EXTRAS)  ## Make the virtual environment .venv and install mpu into it

demo: venv  ## Run the main job on the digits that come with the project, results in demo/
	MPU=$(VENV)/bin/mpu data/demo.sh

test: venv  ## Run the tests
	$(VENV)/bin/python -m pytest

lint: $(VENV)/installed-lint  ## Check style and formatting
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

rcv1: venv  ## Fetch the paper's data, RCV1-v2 topics, into data/rcv1/
	$(VENV)/bin/python data/fetch_rcv1.py full

rcv1-small: venv  ## Fetch a small part of it
	$(VENV)/bin/python data/fetch_rcv1.py small

bench: $(VENV)/installed-bench $(PEERS)/installed  ## Compare speed and quality with other tools on 20,000 instances (minutes)
	$(call compare,20000,2)

bench-full: $(VENV)/installed-bench $(PEERS)/installed  ## The same on 804,414 instances, as many as RCV1 has (hours)
	$(call compare,804414,1)

# compare INSTANCES,REPETITIONS: results go to bench/INSTANCES/
define compare
mkdir -p bench/$(1)
$(VENV)/bin/python -m benchmarks.generate bench/$(1)/rcv1 --instances $(1)
$(VENV)/bin/python -m benchmarks.run bench/$(1)/rcv1-train.svm bench/$(1)/rcv1-test.svm --output bench/$(1) \
	--repetitions $(2) --peers $(PEERS)/bin/python
$(VENV)/bin/python -m benchmarks.roofline bench/$(1)/rcv1-train.svm > bench/$(1)/roofline.md
endef

clean:  ## Remove all that was made here, but not data that was fetched
	rm -rf $(VENV) $(PEERS) bench demo build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find mpu_cli benchmarks tests data -name __pycache__ -prune -exec rm -rf {} +

# One stamp an extra: installed again only when pyproject.toml has changed.
$(VENV)/installed-%: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# One by one: a peer that cannot be installed here must not keep out the others.
$(PEERS)/installed: benchmarks/peers.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m venv $(PEERS)
	-xargs -n 1 $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check < $<
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'error: $(PYTHON) is not Python 3.11 or later; name one that is: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
