# Loopscope. `make help` lists the targets; README.md says which two you need.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN      := bin
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
GO_FILES  = $$(git ls-files '*.go' | grep -v '_templ\.go$$')
# The sandbox links Kubernetes itself: without debug information it links in half the time.
# One set of flags for everything in its module: any other compiles Kubernetes again.
SANDBOX_GO    := CGO_ENABLED=0 GOFLAGS="$(GOFLAGS) -trimpath" go
SANDBOX_BUILD := $(SANDBOX_GO) build -ldflags '$(LDFLAGS)'
RECORDINGS    ?= $(BIN)/recordings
SUITE         := LOOPSCOPE_SANDBOX=$(CURDIR)/$(BIN)/sandbox LOOPSCOPE=$(CURDIR)/$(BIN)/loopscope $(SANDBOX_GO) test -count=1
ARGS ?=

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: sandbox
sandbox: $(BIN)/sandbox ## Run a real control plane with demo Deployments and the dashboard (ARGS="--help" for flags)
	@exec $(BIN)/sandbox $(ARGS)

.PHONY: test
test: deps ## Everything CI runs: vet, lint, generated code, race tests, browser and end-to-end tests
	@.ci/test

.PHONY: check
check: generated fmt vet ## Quick look for yourself: format, vet and the unit tests, without a cluster, a browser or other programs
	go test -short ./...

.PHONY: build
build: ## Build the loopscope binary into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/loopscope ./cmd/loopscope

# Always asks go, which knows better than make what is out of date.
.PHONY: $(BIN)/sandbox
$(BIN)/sandbox:
	@if [ ! -x $@ ]; then echo "Building the sandbox. It links a whole Kubernetes: the first build takes about 5 minutes, later ones seconds."; fi
	@$(SANDBOX_BUILD) -o $@ ./cmd/sandbox

.PHONY: e2e
e2e: $(BIN)/sandbox build ## End-to-end tests against a real control plane, with a sample of every long suite (about 6 minutes)
	$(SUITE) -v -p 2 -timeout 25m ./cmd/sandbox/e2e ./cmd/sandbox/... # the longest first

.PHONY: safety
safety: $(BIN)/sandbox build ## 500 random rollouts under the eye of the watcher (about 15 minutes)
	LOOPSCOPE_E2E_ROLLOUTS=$${LOOPSCOPE_E2E_ROLLOUTS:-500} LOOPSCOPE_E2E_AT_ONCE=$${LOOPSCOPE_E2E_AT_ONCE:-12} \
	$(SUITE) -timeout 1h -v -run 'TestRolloutBounds|TestWatcherCatchesAWrongLoop' ./cmd/sandbox/e2e

.PHONY: plans
plans: $(BIN)/sandbox build ## 20 random rollouts beside the plans that what-if makes of them (about 2 minutes)
	LOOPSCOPE_E2E_PLANS=$${LOOPSCOPE_E2E_PLANS:-20} $(SUITE) -timeout 15m -v -run TestPlansComeTrue ./cmd/sandbox/e2e

.PHONY: authors
authors: $(BIN)/sandbox ## 100 changes by eight kinds of writers: whom causes name, beside the audit log (about 2 minutes)
	LOOPSCOPE_E2E_AUTHORS=$${LOOPSCOPE_E2E_AUTHORS:-100} $(SUITE) -timeout 15m -v -run 'TestAuthors$$' ./cmd/sandbox/e2e

.PHONY: migrations
migrations: $(BIN)/sandbox build ## 20 ReplicationControllers that become Deployments, and 80 that are interrupted on the way (about 5 minutes)
	LOOPSCOPE_E2E_MIGRATED=$${LOOPSCOPE_E2E_MIGRATED:-20} LOOPSCOPE_E2E_CUTS=$${LOOPSCOPE_E2E_CUTS:-80} $(SUITE) -timeout 30m -v -run 'TestMigrate' ./cmd/sandbox/e2e

.PHONY: creates
creates: $(BIN)/sandbox build ## Every input of kubectl create, given to kubectl and to loopscope create (about a minute)
	LOOPSCOPE_E2E_CREATES=$${LOOPSCOPE_E2E_CREATES:-1000} $(SUITE) -timeout 15m -v -run 'TestCreateIsKubectls' ./cmd/sandbox/e2e

.PHONY: leaders
leaders: $(BIN)/sandbox build ## Three managers: the leader killed 20 times and stopped 20 times in the middle of rollouts; what a standby costs (about 13 minutes)
	LOOPSCOPE_LEADERS=$${LOOPSCOPE_LEADERS:-20} $(SUITE) -timeout 1h -v -run 'TestThreeManagers|TestManagerCosts' ./cmd/sandbox/e2e

.PHONY: updates
updates: $(BIN)/sandbox ## Rolling updates of ReplicationControllers: killed and taken back at every write, 1 to 100 pods, what kubectl left, also beside kube-controller-manager (about 9 minutes)
	LOOPSCOPE_UPDATES=$${LOOPSCOPE_UPDATES:-all} $(SUITE) -timeout 25m -v ./cmd/sandbox/updates

.PHONY: chaos
chaos: $(BIN)/sandbox build ## Every fault in the middle of 20 rollouts, in all its rounds (LOOPSCOPE_CHAOS=NAME for some)
	LOOPSCOPE_CHAOS=$${LOOPSCOPE_CHAOS:-all} $(SUITE) -timeout 2h -v ./cmd/sandbox/chaos

.PHONY: situations
situations: $(BIN)/sandbox build ## Over 100 situations and what is said of each, everywhere (about 5 minutes; LOOPSCOPE_SITUATIONS=NAME for some)
	LOOPSCOPE_SITUATIONS=$${LOOPSCOPE_SITUATIONS:-all} $(SUITE) -timeout 30m -v ./cmd/sandbox/situations

.PHONY: gallery
gallery: ## Every page and component of the console in every state, at http://127.0.0.1:8078/gallery (ARGS=HOST:PORT for another)
	go test -count=1 -timeout 0 -run '^TestGallery$$' ./web -gallery $${ARGS:-127.0.0.1:8078}

.PHONY: console
console: deps ## The whole gallery in Chromium: both themes, 400 to 1440 px, 400 %, forced colours, axe-core (about 45 minutes; LOOPSCOPE_LOOKS=pages leaves most situations out)
	LOOPSCOPE_LOOKS=$${LOOPSCOPE_LOOKS:-all} go test -count=1 -timeout 2h -v -run 'TestBrowser' ./web

.PHONY: scale
scale: $(BIN)/sandbox ## The console of 10,000 Deployments at rest: time of pages, first paint, memory (about 25 minutes)
	LOOPSCOPE_SCALE_DEPLOYMENTS=$${LOOPSCOPE_SCALE_DEPLOYMENTS:-10000} $(SUITE) -timeout 3h -v -run 'TestScale$$' ./cmd/sandbox/scale

.PHONY: scale-shadow
scale-shadow: $(BIN)/sandbox build ## What a process that watches takes beside 2,000 and 5,000 Deployments: memory and processor at its start, at rest and during rollouts (about 30 minutes)
	LOOPSCOPE_SCALE_SHADOW=$${LOOPSCOPE_SCALE_SHADOW:-2000,5000} $(SUITE) -timeout 3h -v -run TestShadowAtScale ./cmd/sandbox/scale

.PHONY: scale-readers
scale-readers: ## A thousand live readers on mixed pages while rollouts are fed: sync to frame, CPU a frame (about a minute, on a quiet machine)
	LOOPSCOPE_READERS=$${LOOPSCOPE_READERS:-1000} go test -count=1 -timeout 10m -v -run 'TestManyReaders' ./web

.PHONY: sockets
sockets: ## What 5,000 idle and 1,000 active sockets take of a manager: memory and processor, on both ports (about 3 minutes)
	LOOPSCOPE_SOCKETS=$${LOOPSCOPE_SOCKETS:-5000,1000} go test -count=1 -timeout 20m -v -run 'TestSockets$$' ./cmd/internal/app

.PHONY: bench
bench: ## Benchmarks: deciding, recording with and without readers
	go test -run '^$$' -bench . -benchmem ./controllers/... ./telemetry/... ./web/...

.PHONY: bench-history
bench-history: ## A history of a million different syncs: bytes, writing, p95 of every kind of search; then 50 kills (about 20 minutes)
	LOOPSCOPE_HISTORY_SYNCS=$${LOOPSCOPE_HISTORY_SYNCS:-1000000} LOOPSCOPE_HISTORY_KILLS=$${LOOPSCOPE_HISTORY_KILLS:-50} \
	go test -count=1 -timeout 3h -v -run 'TestSpeed|TestKilled' ./telemetry/history

.PHONY: bench-rollout
bench-rollout: $(BIN)/sandbox build ## Our loops against upstream's: requests, wall, CPU and memory of 200 rollouts (about 25 minutes)
	LOOPSCOPE_BENCH_DEPLOYMENTS=$${LOOPSCOPE_BENCH_DEPLOYMENTS:-200} LOOPSCOPE_BENCH_PAIRS=$${LOOPSCOPE_BENCH_PAIRS:-3} \
	$(SUITE) -timeout 3h -v ./cmd/sandbox/bench

.PHONY: bench-rollout-shadow
bench-rollout-shadow: ## What a process that watches takes and finds beside upstream's loops during 200 rollouts
	LOOPSCOPE_BENCH_SHADOW=yes LOOPSCOPE_BENCH_PAIRS=$${LOOPSCOPE_BENCH_PAIRS:-1} $(MAKE) bench-rollout

.PHONY: bench-overhead
bench-overhead: $(BIN)/sandbox build ## What record, history and a reader cost the loops: five pairs of runs with and without
	LOOPSCOPE_BENCH_OVERHEAD=yes LOOPSCOPE_BENCH_DEPLOYMENTS=$${LOOPSCOPE_BENCH_DEPLOYMENTS:-100} LOOPSCOPE_BENCH_PAIRS=$${LOOPSCOPE_BENCH_PAIRS:-5} \
	$(SUITE) -timeout 3h -v ./cmd/sandbox/bench

.PHONY: bench-readers
bench-readers: $(BIN)/sandbox build ## What a hundred live readers cost rollouts: pairs of runs with and without
	LOOPSCOPE_BENCH_CROWD=yes LOOPSCOPE_BENCH_DEPLOYMENTS=$${LOOPSCOPE_BENCH_DEPLOYMENTS:-100} LOOPSCOPE_BENCH_PAIRS=$${LOOPSCOPE_BENCH_PAIRS:-5} \
	$(SUITE) -timeout 3h -v ./cmd/sandbox/bench

.PHONY: bench-floods
bench-floods: $(BIN)/sandbox build ## What readers without manners cost a rollout of 6 pods: alone and beside each flood in turn (about 12 minutes)
	LOOPSCOPE_BENCH_FLOODS=$${LOOPSCOPE_BENCH_FLOODS:-10} $(SUITE) -timeout 1h -v -run 'TestFloods$$' ./cmd/sandbox/bench

.PHONY: conformance
conformance: $(BIN)/sandbox build ## Kubernetes' own tests of the three loops, with ours and, beside a process that watches, with upstream's (about 5 minutes)
	LOOPSCOPE_CONFORMANCE_RUNS=$${LOOPSCOPE_CONFORMANCE_RUNS:-1} $(SUITE) -timeout 2h -v ./cmd/sandbox/conformance

.PHONY: parity
parity: $(BIN)/sandbox ## What 200 random and all scripted scenarios leave, with upstream's loops twice and with ours (about 20 minutes)
	LOOPSCOPE_PARITY_SCRIPTED=all LOOPSCOPE_PARITY_RANDOM=$${LOOPSCOPE_PARITY_RANDOM:-200} $(SUITE) -timeout 2h -v ./cmd/sandbox/parity

.PHONY: parity-shadow
parity-shadow: build ## The same, and what a process that watches finds beside upstream's loops meanwhile (60 random scenarios)
	LOOPSCOPE_PARITY_SHADOW=yes LOOPSCOPE_PARITY_RANDOM=$${LOOPSCOPE_PARITY_RANDOM:-60} $(MAKE) parity

# The newest patch releases that the Go module proxy has all modules of.
RELEASES ?= v1.30.14 v1.31.0 v1.32.9 v1.33.13 v1.34.4 v1.35.4

.PHONY: versions
versions: $(BIN)/sandbox build ## Build Kubernetes 1.30 to 1.35, and run the shadow and the loops beside each (over an hour; RELEASES=v1.30.14 for one, CHECK=no only builds)
	@.ci/versions $(RELEASES)

.PHONY: requests
requests: $(BIN)/sandbox build ## Note which requests the loops send in parity and chaos, for the table in controllers (about 25 minutes)
	LOOPSCOPE_REQUESTS=$(CURDIR)/controllers/testdata/acting/seen.txt LOOPSCOPE_CHAOS_ROUNDS=$${LOOPSCOPE_CHAOS_ROUNDS:-1} $(MAKE) parity chaos
	LC_ALL=C sort -u -o controllers/testdata/acting/seen.txt controllers/testdata/acting/seen.txt

.PHONY: replay-suites
replay-suites: $(BIN)/sandbox build ## Record every sync of parity and of one bench run, and decide each once more (about 30 minutes)
	@mkdir -p $(RECORDINGS) && [ -z "$$(ls -A $(RECORDINGS))" ] || { echo "$(RECORDINGS) is not empty: remove it, or give another one with RECORDINGS=DIR"; exit 1; }
	LOOPSCOPE_RECORD=$(abspath $(RECORDINGS)) $(MAKE) parity
	LOOPSCOPE_RECORD=$(abspath $(RECORDINGS)) LOOPSCOPE_BENCH_PAIRS=$${LOOPSCOPE_BENCH_PAIRS:-1} $(MAKE) bench-rollout
	$(BIN)/loopscope replay $(RECORDINGS)/*.jsonl

.PHONY: fuzz-long
fuzz-long: ## Every fuzz target for 3 minutes, one on each processor (FUZZTIME=10m, FUZZ_AT_ONCE=5; ONLY=web for some)
	@.ci/fuzz

.PHONY: nightly
nightly: ## The long suites in one go (replay-suites runs two of them once more, and is left to you), with a table at the end; run again, it skips what passed for this commit (some hours)
	@.ci/nightly

.PHONY: mutants
mutants: ## Plant every mistake in controllers and telemetry and tell which no test notices (hours; goes on where it was stopped; ARGS="-n 300" draws some)
	go run ./cmd/internal/mutants -state $(BIN)/mutants.jsonl $(ARGS) ./controllers/... ./telemetry/...

.PHONY: mutants-sample
mutants-sample: # Of packages whose tests take a few seconds; the others are left to make mutants.
	go run ./cmd/internal/mutants -seed "$${LOOPSCOPE_SEED:-1}" -n 15 $$(go list ./controllers/... ./telemetry/... | grep -vE '/(sim|history)$$')

.PHONY: generate
generate: ## Generate the code of templates, DECISIONS.md, REASONS.md, and roles in deploy
	go tool templ generate -path views
	go run ./controllers/internal/gendecisions controllers
	go run ./cmd/internal/packaging deploy

GENERATED := cat views/*_templ.go controllers/DECISIONS.md controllers/REASONS.md $$(find deploy -name '*.yaml' -o -name '*.json') | sha256sum

.PHONY: generated
generated: ## Fail if generated files are out of date (and bring them up to date)
	@before=$$($(GENERATED)); $(MAKE) generate >/dev/null 2>&1 || $(MAKE) generate; \
	[ "$$before" = "$$($(GENERATED))" ] || { echo "Generated files were out of date and are fresh now: look at them and commit them."; exit 1; }

.PHONY: fmt
fmt: ## Fail if a Go file is not formatted
	@bad=$$(gofmt -l $(GO_FILES)); [ -z "$$bad" ] || { echo "Not formatted: $$bad"; exit 1; }

.PHONY: vet
vet: vet-sandbox ## go vet over both modules
	go vet ./...

.PHONY: vet-sandbox
vet-sandbox:
	$(SANDBOX_GO) vet ./cmd/sandbox/...

.PHONY: lint
lint: fmt ## Static analysis beyond vet
	go tool staticcheck ./...

.PHONY: screenshots
screenshots: $(BIN)/sandbox ## Take the README's pictures again
	@.ci/screenshots

.PHONY: image-check
image-check: ## Run the Dockerfile's build in a scratch root and prove its binary static
	@.ci/image-check

DIST ?= dist

.PHONY: release
release: ## Make a release (VERSION=v1.2.3) in dist/: archives of binaries built twice, checksums, SBOMs, krew manifest, provenance (ARGS=--cold compiles twice; DIST=DIR)
	@cd deploy/release && GOWORK=off go run . --version "$(VERSION)" --repo "$(CURDIR)" --out "$(abspath $(DIST))" $(ARGS)

.PHONY: deps
deps: ## Install what the tests need (chromium, prometheus, gcc, libc6-dev, binutils, npm), or say what to install
	@.ci/deps

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN)
