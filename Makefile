# make demo · make test · make check · make bench · make lint · make dist. Each installs what it lacks, or says what to run.

.DEFAULT_GOAL := help
.PHONY: help demo test check bench proof fuzz lint doc book keys schemas figures web dist
SHELL := /bin/bash

# Where CI runs as root the lab has to work: a test that skips is a failure there.
ifeq ($(CI)$(shell id -u),true0)
export PIPEFILL_REQUIRE_LAB = 1
endif

help: ## prints this
	@awk -F ': .*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

demo: ## study 1 in short on this machine's kernel: about a minute of measuring, no root needed
	@scripts/need.sh rust cc
	@scripts/web.sh || echo "the report page will be without its script, for the reason above"
	@scripts/demo.sh

test: ## everything that has to hold: lint, documentation, all tests
	@scripts/need.sh rust cc rustfmt clippy
	@scripts/web.sh || true # the tests of the page say what they lack
	@scripts/test.sh

check: ## the fast loop: formatting, clippy, unit tests; builds what changed; no root, no network, below two minutes once built
	@CARGO_NET_OFFLINE=true scripts/test.sh format lint units

# ns-3 is large: it is installed only where it is asked for. Where it is there already, it is measured.
bench: ## the simulator's speed (NS3=1: against ns-3), what this machine's data path carries, what watch costs beside ss, how fast captures are read; fails where a goal is missed on a quiet machine
	@scripts/need.sh rust cc iperf3 $(if $(filter 1,$(NS3)),ns3)
	@scripts/need.sh tshark tcptrace || true # the bench says that it goes without them
	@status=0; \
	cargo bench -p pipefill-link --bench fq_codel || status=1; \
	cargo bench -p pipefill-sim --bench speed || status=1; \
	cargo bench -p pipefill-lab --bench throughput || status=1; \
	cargo bench -p pipefill-lab --bench telemetry || status=1; \
	cargo bench -p pipefill --bench watch || status=1; \
	cargo bench --profile dist -p pipefill --bench reading || status=1; \
	cargo bench -p pipefill --bench between || status=1; \
	exit $$status

proof: ## what takes long: advice, captures, goldens, peers, hosts, clusters and the notebook in full, and what is killed at many instants: more than an hour
	@scripts/need.sh rust cc iperf3
	@scripts/need.sh tshark tcptrace sshd podman slurm || true # the tests of what is missing say that they are skipped
	@scripts/need.sh nginx redis rsync nghttp samba mariadb socat chromium curl prometheus systemd-analyze || true # likewise
	@status=0; export PIPEFILL_REQUIRE_ALL=1 PIPEFILL_QUIET=1; \
	scripts/test.sh rustdoc unchecked || status=1; \
	cargo run -q -p xtask -- fixes || status=1; \
	cargo run -q -p xtask -- reproduce || status=1; \
	cargo run -q -p xtask -- packets || status=1; \
	cargo run -q -p xtask -- accuracy || status=1; \
	cargo bench -q -p pipefill --bench programs || status=1; \
	PIPEFILL_CAPTURE_RUNS=26 cargo test -q -p pipefill --test measure counted:: || status=1; \
	PIPEFILL_PROGRAM_CAPTURES=all cargo test -q -p pipefill --test measure programs:: || status=1; \
	PIPEFILL_REMEDIES=all cargo test -q -p pipefill --test measure remedies:: || status=1; \
	for part in kernel parity verdicts between between_verdicts lab watch exec pasted quic; do PIPEFILL_EXEC_TRIES=10 PIPEFILL_ONCE_RUNS=5 cargo test -q -p pipefill --test measure $$part:: || status=1; done; \
	cargo test -q -p pipefill --test beside_tools || status=1; \
	PIPEFILL_FLOWS=1000000 cargo test -q -p pipefill-capture --test many_flows || status=1; \
	PIPEFILL_PAGES=all scripts/test.sh page || status=1; \
	cargo test -q -p pipefill --test measure netem || status=1; \
	PIPEFILL_PERTURBED=all PIPEFILL_CAUSES=all cargo test -q -p pipefill --test cli -- catalogue:: causes:: || status=1; \
	PIPEFILL_KILLS=20 cargo test -q -p pipefill --test cli kills:: || status=1; \
	PIPEFILL_BETWEEN_CELLS=all cargo test -q -p pipefill --test measure between_verdicts::catalogue || status=1; \
	PIPEFILL_HOSTS_ALL=1 PIPEFILL_HOSTS_KILLS=20 cargo test -q -p pipefill --test measure hosts:: || status=1; \
	PIPEFILL_EXEC_RUNS=500 cargo test -q -p pipefill --test measure exec::many_in_a_row || status=1; \
	cargo build -q --release -p pipefill && scripts/clusters.sh || status=1; \
	scripts/iperf3-checks.sh "$${IPERF3_CHECKOUT:-}" || status=1; \
	for part in notebook overhead; do scripts/python.sh $$part || status=1; done; \
	exit $$status

# A package that this machine can't build or try is said, and ends with 3.
dist: ## the packages, into target/packages: static program, .tar.gz, .deb, wheel, Containerfile; each tried in a clean root
	@scripts/need.sh rust cc
	@scripts/need.sh debootstrap podman || true # the trial says that it is skipped
	@scripts/need.sh musl || true # the program is linked with glibc then
	@scripts/web.sh
	@scripts/dist.sh
	@scripts/clean-root.sh || [ $$? -eq 3 ]

FOR ?= 1h
fuzz: ## random scenarios in the simulator, every check on, for an hour (FOR=10min: for that long)
	@scripts/need.sh rust cc
	cargo run --profile fuzz -p pipefill -- sim fuzz --for $(FOR) --jobs $$(nproc)

lint: ## formatting, clippy, xtask's rules
	@scripts/need.sh rust cc rustfmt clippy
	@scripts/need.sh clang || true # xtask says what it could not compare
	@scripts/test.sh format lint web
	@cargo run -q -p xtask --no-default-features -- check || [ $$? -eq 3 ] # 3: what it could not compare, it said

doc: ## the crates' documentation, without a warning
	@scripts/need.sh rust cc
	@scripts/test.sh rustdoc

web: ## the report page's script and style, from web/ into web/dist; before the program is built
	@scripts/web.sh

keys: ## writes the key reference into docs/guide/scenarios.md, and the judge's rules and thresholds into docs/guide/verdicts.md
	cargo run -q -p xtask -- keys
	cargo run -q -p xtask -- rules

schemas: ## writes the JSON Schemas of everything that the program prints into schemas/
	cargo run -q -p xtask -- schemas

book: ## the guide and the references as one book, into target/book
	@scripts/need.sh mdbook
	mdbook build docs

figures: ## writes the guide's tables and pictures, by the simulator: about four minutes
	@scripts/need.sh rust cc
	@scripts/figures.sh
