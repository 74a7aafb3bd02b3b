# zkbench: see README.md. `make` alone lists the targets.

SHELL := /bin/bash
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
LINT_VERSION := $(shell sed -n 's/^# golangci-lint \(v[0-9.]*\).*/\1/p' .golangci.yml)
LIVE_PACKAGES := ./ensemble/... ./variants/... ./scenarios/... ./cmd/...
ZKBENCH := bin/zkbench
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: help build image bench test unit live lint check gallery

## help: list the targets
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | column -t -s: -l 2

## build: compile bin/zkbench
build:
	@go build -trimpath -ldflags "-X main.commit=$(COMMIT)" -o $(ZKBENCH) ./cmd/zkbench

## image: get the ZooKeeper image, or build it from Debian packages
image: build
	@$(ZKBENCH) ensemble image || { \
		command -v docker >/dev/null && ! command -v mmdebstrap >/dev/null && \
		$(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq mmdebstrap && $(ZKBENCH) ensemble image; }

## bench: the main job, from set-up to plots: three locks under 1 to 100 clients
bench: build
	@if docker version >/dev/null 2>&1; then $(MAKE) --no-print-directory image; fi
	@$(ZKBENCH) run lock-contention
	@$(ZKBENCH) plot

## test: unit tests with the race detector, then the live tests against real servers
test: unit live

## unit: tests that need neither Docker nor Java
unit:
	go vet ./...
	env -u ZKBENCH_LIVE -u ZKBENCH_REQUIRE_LIVE go test -race ./...

## live: tests against three containers and three processes; skipped, with the reason, where there are none
live:
	@if docker version >/dev/null 2>&1; then $(MAKE) --no-print-directory image || true; fi
	ZKBENCH_LIVE=1 go test -count=1 -timeout 15m -v -run '^TestLive' $(LIVE_PACKAGES) | grep -v '^=== '; exit $${PIPESTATUS[0]}

## lint: the linters, in the version that .golangci.yml pins
lint:
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION) run ./...

## check: everything that a change must pass
check: lint test
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change: $$(gofmt -l .)"; exit 1; }
	go mod tidy -diff

## gallery: redraw the pictures that the README shows, from the newest run
gallery: build
	@tmp=$$(mktemp -d) && $(ZKBENCH) plot --format png --out $$tmp >/dev/null && \
		for f in timeline-n50-children-watch throughput notifications; do \
			cp $$tmp/lock-contention-container-$$f.png plots/gallery/; done; rm -rf $$tmp
