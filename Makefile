# KQueen. On a bare Debian 12 with Go, `make up` and `make test` do everything that is needed.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# One set of flags everywhere: another set would fill the build cache a second time.
export CGO_ENABLED ?= 0
GO_FLAGS    := -trimpath -buildvcs=false
# The file VERSION has the next release. Until it is one, the commit goes along as SemVer's build metadata.
NEXT        := $(shell cat VERSION)
COMMIT      := $(shell git describe --always --dirty=.dirty --exclude='*' 2>/dev/null)
VERSION     ?= v$(NEXT)$(if $(findstring -,$(NEXT)),$(COMMIT:%=+%))
LDFLAGS     := -s -w -X kqueen.io/kqueen/internal/cli/program.released=$(VERSION)
BIN         := bin
TOOLS       := $(BIN)/tools
# Of Kubernetes, such as VERSIONS="v1.35.4 v1.36.3"; the newest that there is a module for when it is empty. Each takes minutes the first time.
VERSIONS    ?=
GO_TEST     := GOGC=200 CGO_ENABLED=1 go test -trimpath -race -gcflags=modernc.org/...=-race=false -vet=off -ldflags "-s -w" -shuffle=on -timeout 70m
NODE_MODULES := web/node_modules/.package-lock.json
NODE_PATH   := $(abspath $(BIN)/tools/node/bin):$(PATH)
PORTAL_SOURCES := $(shell git ls-files --cached --others --exclude-standard web/src web/build web/public) web/index.html web/openapi.json web/package.json web/tsconfig.json web/vite.config.ts
# In parentheses: a shell that ends at the first failure goes on after one that stands before "&&".
SECONDS_OF  = @begin=$$SECONDS; ($(1)); echo "  ✓ $(2)   $$((SECONDS - begin))s"

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: up
up: programs ## Build what is missing and start KQueen on this machine; what nodes run is built behind it
	@$(BIN)/kqueen release build $(VERSIONS) --source . --detach
	@ln -sfn "$$($(BIN)/kqueen release path kubectl)" $(BIN)/kubectl
	@$(BIN)/kqueen up

.PHONY: down
down: ## Stop KQueen on this machine; data is kept
	@$(BIN)/kqueen down

# Side by side: either build leaves a processor idle at times.
.PHONY: programs
programs: packages ## Build kqueen and upstream Kubernetes where they are not built yet
	@echo "Building kqueen and Kubernetes (the first time takes up to ten minutes)"
	@$(MAKE) --no-print-directory build & kqueen=$$!; \
	go run $(GO_FLAGS) ./kubernetes/build $(VERSIONS) || { kill $$kqueen; exit 1; }; \
	wait $$kqueen

.PHONY: portal
portal: web/dist/index.html.gz ## Build the web portal where its sources have changed; `make build` puts it into the program

web/dist/index.html.gz: $(NODE_MODULES) $(PORTAL_SOURCES)
	@echo "Building the portal"
	@cd web && PATH="$(NODE_PATH)" npm run --silent build

# What npm has installed is as old as the list that it has installed from.
$(NODE_MODULES): web/package-lock.json hack/node
	@hack/node
	@echo "Installing what the portal is built with (the first time takes a minute or two)"
	@cd web && PATH="$(NODE_PATH)" npm ci --silent && touch node_modules/.package-lock.json

.PHONY: build
build: $(BIN)/etcd portal ## Build the kqueen program, with the portal in it
	$(call SECONDS_OF,go build $(GO_FLAGS) -ldflags "$(LDFLAGS)" -o $(BIN)/kqueen ./cmd/kqueen,$(BIN)/kqueen)

# Under the name etcd, kqueen is etcd.
$(BIN)/etcd:
	@mkdir -p $(BIN) && ln -sfn kqueen $@

.PHONY: kubernetes
kubernetes: programs ## Build upstream Kubernetes and the parts of nodes where they are not built yet
	@echo "Building the parts of nodes (the first time takes minutes, later nothing)"
	@$(BIN)/kqueen release build $(VERSIONS) --source .
	@ln -sfn "$$($(BIN)/kqueen release path kubectl)" $(BIN)/kubectl

.PHONY: agent-image
agent-image: ## Pack the agent for clusters that nothing can dial as an OCI archive, bin/kqueen-agent.tar
	@mkdir -p $(BIN)
	CGO_ENABLED=0 go build $(GO_FLAGS) -ldflags "-s -w" -o $(BIN)/kqueen-agent ./cmd/kqueen-agent
	cd node && go run $(GO_FLAGS) ./images -out ../$(BIN) -plan ../cmd/kqueen-agent/image.json

.PHONY: clients
clients: ## Build the command line for macOS and Windows
	@echo "Building clients for other platforms (the first time takes minutes)"
	$(call SECONDS_OF,GOOS=darwin GOARCH=arm64 go build $(GO_FLAGS) -ldflags "$(LDFLAGS)" -o $(BIN)/kqueen-darwin-arm64 ./cmd/kqueen,$(BIN)/kqueen-darwin-arm64)
	$(call SECONDS_OF,GOOS=windows GOARCH=amd64 go build $(GO_FLAGS) -ldflags "$(LDFLAGS)" -o $(BIN)/kqueen-windows-amd64.exe ./cmd/kqueen,$(BIN)/kqueen-windows-amd64.exe)

.PHONY: packages
packages: ## Install the Debian packages that tests and development need
	@./hack/packages

.PHONY: conformance-tests
conformance-tests: kubernetes ## Build upstream's conformance tests and their images where they are not built yet
	@echo "Building conformance tests (the first time takes up to 10 minutes, later nothing)"
	@go run $(GO_FLAGS) ./test/conformance -build

.PHONY: conformance
conformance: conformance-tests ## Run upstream's conformance tests, all that can run here, in a cluster of the Pod Security level LEVEL, and write docs/development/conformance.md
	@go run $(GO_FLAGS) ./test/conformance -level $${LEVEL:-privileged} -page docs/development/conformance.md

.PHONY: conformance-addons
conformance-addons: conformance-tests ## Run upstream's tests of what the addons promise, and write docs/development/addon-tests.md
	@go run $(GO_FLAGS) ./test/conformance -tests addons -level $${LEVEL:-privileged} -page docs/development/addon-tests.md

.PHONY: check
check: packages lint $(TOOLS)/versitygw ## Check form and run the tests that start no cluster, in minutes
	@echo "Testing what needs no cluster"
	@# What vet finds, lint has found before. Linking takes half the time without what debuggers need.
	$(call SECONDS_OF,go test -trimpath -short -vet=off -ldflags "-s -w" -shuffle=on -p 3 ./...,tests that start no cluster)

# An end-to-end test upgrades from the minor before the newest.
.PHONY: test
test: VERSIONS = $(shell sed -n 's/^\tk8s.io\/kubernetes //p' kubernetes/v1.*/go.mod | sort -V | tail -n 2)
test: packages lint kubernetes conformance-tests test-node test-portal $(TOOLS)/helm $(TOOLS)/versitygw ## Check form and run all tests
	@./hack/packages chromium-headless-shell systemd
	@echo "Testing"
	@# As in check; and SQLite, which is C made Go with memory of its own, takes five times as long under the race detector.
	@# There is more memory than processor time: garbage is collected half as often.
	@# One more package at a time than there are processors, because tests wait a lot; what takes longest begins first.
	@# The rules of the architecture have nothing that could race, and take five times as long under its detector.
	$(call SECONDS_OF,go test -trimpath -vet=off -ldflags "-s -w" . && $(GO_TEST) -p 3 ./test/conformance $$(go list ./... | grep -v -e /test/conformance -e /test/e2e -e '^kqueen.io/kqueen$$'),tests of packages)
	@# By themselves: they start whole clusters, which compilers and other tests beside them would keep from answering in time.
	$(call SECONDS_OF,$(GO_TEST) ./test/e2e,end-to-end tests)

.PHONY: cover
cover: kubernetes ## Show how much of internal/ all tests together run, end-to-end tests included
	@./hack/packages chromium-headless-shell systemd
	@rm -rf $(BIN)/cover && mkdir -p $(BIN)/cover
	go test -trimpath -exec "env GOCOVERDIR=$(abspath $(BIN)/cover)" -cover -coverpkg=./internal/... -timeout 60m ./internal/... ./test/... -args -test.gocoverdir=$(abspath $(BIN)/cover)
	@go tool covdata percent -i=$(BIN)/cover -pkg="$$(go list ./internal/... | paste -sd,)" | sort

.PHONY: soak
soak: kubernetes ## Kill and stop programs under load for FOR=30m, then run the long forms of tests: crashes, floods, clusters at once, the inventory at scale, a fault at every call
	@echo "Soaking; docs/development/soak.md says what this does"
	KQUEEN_E2E_SOAK=$${FOR:-30m} go test -trimpath -v -timeout 24h ./test/e2e -run 'TestSoak$$'
	KQUEEN_E2E_SEEDS=$${SEEDS:-50} KQUEEN_E2E_CLUSTERS=20 KQUEEN_E2E_FLOOD=10000 go test -trimpath -v -timeout 2h ./test/e2e -run 'TestCrashes|TestManyAtOnce|TestMember$$'
	KQUEEN_E2E_HOSTILE=$${HOSTILE:-3m} go test -trimpath -v -timeout 1h ./test/e2e -run 'TestHostileTenant$$'
	KQUEEN_TRUTH=full go test -trimpath -v -timeout 3h ./internal/clusters/collector -run 'TestTruthAtScale$$'
	KQUEEN_FAULTS=all go test -trimpath -timeout 2h ./internal/... -run UnderFaults

.PHONY: upgrade
upgrade: kubernetes ## Upgrade an installation of the KQueen of a commit, FROM=..., to this one, under clients
	@test -n "$(FROM)" || { echo 'say from which commit: make upgrade FROM=...' >&2; exit 1; }
	@rm -rf $(BIN)/before && git worktree prune && git worktree add --quiet --detach $(BIN)/before $(FROM)
	@trap 'git worktree remove --force $(BIN)/before' EXIT; set -x; \
	(cd $(BIN)/before && go build $(GO_FLAGS) -o kqueen ./cmd/kqueen); \
	KQUEEN_E2E_FROM=$(abspath $(BIN)/before)/kqueen go test -trimpath -v -timeout 30m ./test/e2e -run 'TestUpgradeFrom$$'

# ./volumes without the race detector: its test starts several agents in one process, and the library of each registers types with
# client-go, which the others read. traefik without it, because Traefik is compiled without it already.
.PHONY: test-node
test-node: packages $(TOOLS)/golangci-lint ## Check form and test what becomes images for nodes
	@for m in node node/coredns node/flannel node/metrics-server node/agent node/traefik; do (cd $$m && "$(abspath $(TOOLS))/golangci-lint" run ./...); done
	$(call SECONDS_OF,cd node && CGO_ENABLED=1 go test -trimpath -race ./images ./pause ./toolbox && cd flannel && CGO_ENABLED=1 go test -trimpath -race . && cd ../agent && CGO_ENABLED=1 go test -trimpath -race . ./addresses ./policies ./ready && CGO_ENABLED=0 go test -trimpath ./volumes && cd ../traefik && CGO_ENABLED=0 go test -trimpath .,tests of node)

.PHONY: test-portal
test-portal: portal ## Check form and test the parts of the portal that need no browser
	$(call SECONDS_OF,cd web && PATH="$(NODE_PATH)" npm run --silent lint && PATH="$(NODE_PATH)" NO_COLOR=1 npm run --silent test -- --silent,tests of the portal)

.PHONY: test-browser
test-browser: kubernetes ## Use the portal in a browser beside a cluster with nodes, and look at every page
	@./hack/packages chromium-headless-shell
	go test -trimpath -vet=off -ldflags "-s -w" -timeout 20m -v ./test/e2e -run '^TestWorkers$$/^(Workloads|Portal)$$'

.PHONY: screenshots
screenshots: portal ## Take pictures of every page of the portal at KQUEEN_SERVER, as PORTAL_USER with PORTAL_PASSWORD, into docs/screenshots
	@./hack/packages chromium-headless-shell
	cd web && PATH="$(NODE_PATH)" KQUEEN_SERVER="$${KQUEEN_SERVER:-https://127.0.0.1:8443}" SCREENSHOTS="$(abspath docs/screenshots)" npx playwright test then-every-page.spec.ts

.PHONY: generate
generate: $(TOOLS)/controller-gen ## Write everything that is generated from the Go types and the commands
	@cd api/v1alpha1 && ../../$(TOOLS)/controller-gen object paths=. crd:crdVersions=v1 output:crd:artifacts:config=../crds
	@go run $(GO_FLAGS) ./docs/generate
	@# What needs the whole command line is written by its test, so that no further program links all of it.
	@go test -trimpath -vet=off -ldflags "-s -w" ./internal/cli -run 'TestReference$$' -update

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## Check form: vet, linters
	@echo "Linting (the first time takes minutes)"
	$(call SECONDS_OF,GOFLAGS=-trimpath $(TOOLS)/golangci-lint run ./...,lint)

.PHONY: bench
bench: kubernetes ## Measure what the promises are about
	@./hack/packages chromium
	@go run $(GO_FLAGS) ./bench

$(TOOLS)/helm: test/helm/go.mod test/helm/go.sum
	@echo "Building Helm, which a test uses as users do (the first time takes minutes)"
	@cd test/helm && go build $(GO_FLAGS) -o ../../$@ $$(go list tool)

$(TOOLS)/versitygw: test/s3/go.mod test/s3/go.sum
	@echo "Building an S3 server, which tests keep backups in (the first time takes minutes)"
	@cd test/s3 && go build $(GO_FLAGS) -o ../../$@ $$(go list tool)

$(TOOLS)/%: tools/go.mod tools/go.sum
	@echo "Building $(@F) (the first time takes a minute)"
	@cd tools && go build $(GO_FLAGS) -o ../$@ $$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' tool | grep '/$(@F)$$')
