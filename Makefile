# Everything a developer runs. `make` alone lists it.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# The race detector needs cgo, and so a C compiler; without one the tests run
# without it. Everything else is built without cgo.
CC   := $(shell $(GO) env CC)
RACE := $(if $(shell command -v $(CC) 2>/dev/null),yes)

# How long each fuzz target runs, and how long one test package may take.
FUZZ_TIME    ?= 30s
TEST_TIMEOUT ?= 20m
TEST_FLAGS   ?=

# Tools are pinned, and built into a cache outside the checkout.
GOLANGCI_VERSION := v2.15.0
TOOLS            ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tieout
GOLANGCI         := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint

export CGO_ENABLED := 0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/tieout
	$(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/tieout ./cmd/tieout

.PHONY: demo
demo: build ## settle a month of real claims and one of trades on this machine, and show what came of them
	bin/tieout demo

.PHONY: test
test: ## run all tests, with the race detector where there is a C compiler
ifeq ($(RACE),yes)
	CGO_ENABLED=1 $(GO) test -race -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...
else
	$(GO) test -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...
endif

.PHONY: test-race
test-race: ## run all tests with the race detector, which needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...

.PHONY: lint
lint: $(GOLANGCI) ## check format, vet, and the rules of .golangci.yml
	@unformatted=$$(gofmt -l cmd pkg schemas streams); \
	if [ -n "$$unformatted" ]; then printf 'not formatted (make fmt):\n%s\n' "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GOLANGCI) run --allow-parallel-runners ./...

$(GOLANGCI):
	GOBIN=$(dir $@) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

.PHONY: fmt
fmt: ## format the code
	gofmt -w cmd pkg schemas streams

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZ_TIME (30s)
	@set -e; for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) -fuzzminimizetime 10x $$package; \
	  done; \
	done

.PHONY: bench
bench: ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: clean
clean: ## remove what was built
	rm -rf bin coverage.out
