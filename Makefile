# zkbench: see README.md. `make` alone lists the targets.

SHELL := /bin/bash
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
LINT_VERSION := $(shell sed -n 's/^# golangci-lint \(v[0-9.]*\).*/\1/p' .golangci.yml)
LIVE_PACKAGES = $(shell grep -rl --include='*_test.go' '^func TestLive[A-Z]' . | xargs -n 1 dirname | sort -u)
ZKBENCH := bin/zkbench
FUZZTIME := 1m
# Flags of `zkbench run`, such as BENCH_FLAGS=--quick.
BENCH_FLAGS :=
# Flags of `go test` for the unit tests: -short leaves measurements and most conformance tests out.
UNIT_FLAGS :=
# The live tests to run, as a regular expression.
LIVE_TESTS := ^TestLive[A-Z]
# The tests of `make faults`, likewise.
FAULT_TESTS := .
# How long `make soak` lasts, and the seed of what it runs and of what fails.
SOAK := 30m
SEED := 1
# With the same flags, packages are compiled once for both the binary and the tests.
GO_FLAGS := -trimpath
# Only the race detector needs C. Without it, the same is compiled on a machine with a C compiler and on one without.
export CGO_ENABLED := 0

.PHONY: help build image container dist bench test unit faults planted simulate callsites live soak fresh fuzz lint check gate gallery results

## help: list the targets
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{ printf "%-10s%s\n", $$1, substr($$0, length($$1) + 3) }'

## build: compile bin/zkbench
build:
	@go build $(GO_FLAGS) -ldflags "-X main.commit=$(COMMIT)" -o $(ZKBENCH) ./cmd/zkbench

## image: get the ZooKeeper image, or build it from Debian packages
image:
	@.ci/setup containers

## container: build the image CONTAINER (zkbench), which has zkbench and nothing else and runs beside an ensemble; see docs/external.md
CONTAINER := zkbench
container:
	@set -e; context=$$(mktemp -d); trap 'rm -rf "$$context"' EXIT; \
	cp /etc/ssl/certs/ca-certificates.crt .ci/Dockerfile "$$context"; \
	go build $(GO_FLAGS) -ldflags "-s -w -X main.commit=$(COMMIT)" -o "$$context/zkbench" ./cmd/zkbench; \
	docker build --tag $(CONTAINER) "$$context"

## dist: build what a release has, for every platform, in bin/dist; see docs/install.md
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 freebsd/amd64
dist:
	@GO_FLAGS='$(GO_FLAGS)' .ci/dist $(PLATFORMS)

## bench: the main job, from set-up to plots: three locks under 1 to 100 clients
bench:
	@.ci/setup all
	@$(ZKBENCH) run lock-contention $(BENCH_FLAGS)
	@$(ZKBENCH) plot

## test: unit tests with the race detector, faults on the embedded server, planted mistakes, simulations, then the live tests against real servers
test: unit faults planted simulate live

## unit: tests that need neither Docker nor Java
unit:
	go vet $(GO_FLAGS) ./...
	@.ci/unit $(GO_FLAGS) $(UNIT_FLAGS)

## faults: every variant and scenario, and every fault of clients, on the embedded server and in virtual time
# These are all tests of the packages of which `make unit` runs a sample: they take minutes with the race detector.
faults:
	env -u ZKBENCH_LIVE -u ZKBENCH_REQUIRE_LIVE go test $(GO_FLAGS) ./scenarios/runner ./variants/conformance -count=1 -timeout 30m -parallel 24 -run '$(FAULT_TESTS)'

## planted: mistakes planted in zkbench, each of which `zkbench run` or `zkbench gate` must catch
planted:
	ZKBENCH_PLANTED_ALL=1 go test $(GO_FLAGS) -count=1 ./results/planted

## simulate: every variant under random faults in virtual time, from a seed that differs each time, for SIMULATE (1m)
SIMULATE := 1m
simulate: build
	go test $(GO_FLAGS) $(UNIT_FLAGS) -count=1 ./variants/simulation
	@from=$$(date +%s); echo "simulating from seed $$from on"; $(ZKBENCH) simulate --for $(SIMULATE) --from $$from --out bin/simulated

## callsites: change each call site of the variants CALLSITES (.), one at a time, and demand that the gate notices it; about five minutes
CALLSITES := .
callsites:
	ZKBENCH_CALLSITES='$(CALLSITES)' go test $(GO_FLAGS) -count=1 -timeout 0 -v -run '^TestCallSites$$' ./variants/mutants

## live: tests against three containers and three processes; skipped, with the reason, where there are none
live:
	@.ci/setup containers || true
	@$(MAKE) --no-print-directory build
	@.ci/live '$(LIVE_TESTS)' $(GO_FLAGS) $(LIVE_PACKAGES)

## soak: random faults from SEED, over all recipes, on containers, for SOAK (30m); simulations and generated plans beside them
# A measurement takes at most a minute or two longer than its window.
soak: build
	@.ci/setup containers
	@(from=$$(date +%s); echo "simulating from seed $$from on"; $(ZKBENCH) simulate --for $(SOAK) --from $$from --out bin/simulated && \
	go test ./variants/simulation -run '^$$' -fuzz FuzzPlan -fuzztime $(FUZZTIME) -fuzzminimizetime 10x) & beside=$$!; code=0; \
	ZKBENCH_SOAK=$(SOAK) ZKBENCH_SOAK_SEED=$(SEED) go test $(GO_FLAGS) -count=1 -timeout 0 -v -run '^TestSoak$$' ./scenarios/runner || code=$$?; \
	wait $$beside || code=$$?; exit $$code

## fresh: run `make bench` and `make test` in a pristine root, with nothing but Go and its caches
fresh:
	@BENCH_FLAGS='$(BENCH_FLAGS)' UNIT_FLAGS='$(UNIT_FLAGS)' LIVE_TESTS='$(LIVE_TESTS)' FAULT_TESTS='$(FAULT_TESTS)' SIMULATE='$(SIMULATE)' .ci/fresh

## fuzz: every fuzz target for FUZZTIME each
fuzz:
	go test ./ensemble/jute -run '^$$' -fuzz FuzzDecoder -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./ensemble/embedded -run '^$$' -fuzz FuzzConnection -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./results/store -run '^$$' -fuzz FuzzDecode -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./results/strict -run '^$$' -fuzz FuzzDecode -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./results/gate -run '^$$' -fuzz FuzzRules -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./scenarios -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./scenarios -run '^$$' -fuzz FuzzFlags -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./scenarios/faults -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./results/paired -run '^$$' -fuzz FuzzGreater -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./results/paired -run '^$$' -fuzz FuzzSummarize -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./variants/simulation -run '^$$' -fuzz FuzzPlan -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./variants -run '^$$' -fuzz FuzzFormula -fuzztime $(FUZZTIME) -fuzzminimizetime 10x

## lint: the linters, in the version that .golangci.yml pins
lint:
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION) run ./...

## check: everything that a change must pass
check: lint test
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change: $$(gofmt -l .)"; exit 1; }
	go mod tidy -diff

## gate: hold the project's own recipes to results/baselines, on the embedded server
# The group exact leaves watch-memory out, because the embedded server has no heap to measure. The gate evaluates only complete runs
# (exit codes 0, 3 and 5).
GATE_FLAGS :=
gate: build
	@set -e; out=$$(mktemp -d); trap 'rm -rf "$$out" "$$out.log"' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; \
	echo "running all scenarios with exact counts on the embedded server"; code=0; \
	$(ZKBENCH) run exact --ensemble embedded --repeats 1 --name gate-$$$$ --out "$$out" >"$$out.log" 2>&1 || code=$$?; \
	case $$code in \
		0) ;; \
		3|5) tail -n 5 "$$out.log" ;; \
		*) tail -n 20 "$$out.log"; echo "the gate needs a complete run: this one exited with $$code"; exit $$code ;; \
	esac; \
	$(ZKBENCH) gate "$$out" --require exact --baseline results/baselines $(GATE_FLAGS)

## gallery: redraw those of the pictures in plots/gallery that the newest run has
gallery: build
	@tmp=$$(mktemp -d) && $(ZKBENCH) plot --format png --out $$tmp >/dev/null && \
		for f in plots/gallery/*.png; do \
			[ ! -e $$tmp/$$(basename $$f) ] || cp $$tmp/$$(basename $$f) plots/gallery/; done; rm -rf $$tmp

## results: measure the run that docs/results/PAGE.md names, store it beside the page, and write its figures again; up to 20 minutes
PAGE := locks
results: build
	@command=$$(sed -n 's/^<!-- results $(PAGE) facts zkbench \(.*\) -->$$/\1/p' docs/results/$(PAGE).md); \
	[ -n "$$command" ] || { echo "docs/results/$(PAGE).md names no run"; exit 2; }; \
	out=$$(mktemp -d); code=0; $(ZKBENCH) $$command --out $$out/run || code=$$?; \
	case $$code in 0|3|4|5) ;; *) exit $$code ;; esac; \
	ZKBENCH_PAGE=$(PAGE) ZKBENCH_STORE=$$out/run go test $(GO_FLAGS) -count=1 ./cmd/zkbench -run '^TestStoreRun$$' && \
	go test $(GO_FLAGS) -count=1 ./cmd/zkbench -run '^TestMeasuredFigures$$' -update; rm -rf $$out
