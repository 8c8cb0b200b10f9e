// Package kqueen_test holds the rules of the architecture as tests: which package may import which,
// how long things may be, what may not be called, how packages are named, and which words texts do not use.
//
// This file is the law: its tables are what a change of the architecture changes.
// architecture_table_test.go reads the table of imports; architecture_rules_test.go, architecture_form_test.go and
// architecture_words_test.go apply the rules; architecture_broken_test.go shows each rule what breaks it. Each
// exception stands in a table beside its reason, and one that is not needed any more is a violation itself. What
// golangci-lint can say is in .golangci.yml.
package kqueen_test

import (
	"os"
	"path/filepath"
	"testing"
)

// module is the path of this module; packages are named without it.
const module = "kqueen.io/kqueen"

// importTable says who may import whom; packages below internal/ are named without it. "a, b < c, d" says that c
// and d may import a and b, and whatever a and b may. Nothing else may be imported: packages of one floor do not
// know each other. A name in capitals stands for all that is below it. The tests of a package may import what the
// package may, the package itself and the packages for tests.
const importTable = `
	# The API types import nothing. The public client knows what goes over the wire and nothing else.
	NONE < api/v1alpha1, api/crds, api/rest < API;
	api/rest < client;

	# platform: small mechanisms that know nothing of KQueen's subjects; each can be tested alone. PLAIN ones import
	# nothing, and every package may use them that has use for them.
	NONE < platform/atomicfile, platform/ciphers, platform/filelock, platform/handover, platform/invalid, platform/peer, platform/share, platform/stage, platform/text < PLAIN;
	platform/text < platform/health < PLAIN;
	platform/invalid < platform/component, platform/schema, platform/cron < PLAIN;
	NONE < platform/osthread, platform/procroot, platform/relay, platform/spawn, platform/links, platform/kube, platform/database, platform/hostcheck, platform/logfile, platform/redact, platform/sealedtar;
	platform/relay < platform/healthz;
	platform/database, PLAIN < platform/idempotency;
	API < platform/operator, platform/admission;
	platform/operator, platform/share < platform/jobs;
	platform/osthread < platform/confine;
	# Only supervise knows how a process of the host is run.
	PLAIN, platform/osthread, platform/confine, platform/procroot, platform/spawn < platform/supervise;

	# hosting: the mechanisms of control planes.
	PLAIN < hosting/pki, hosting/datastore, hosting/release, hosting/runner;
	platform/relay, platform/share < hosting/egress;
	# What API servers have encrypted is told without them.
	hosting/pki < hosting/atrest;
	platform/operator, platform/relay, platform/healthz, platform/kube, PLAIN < hosting/gateway;
	# The gate of a data store names keyspaces as the store does.
	hosting/datastore, platform/healthz, PLAIN < hosting/storegate;
	# A runner of processes says in the supervisor's terms what is described; no reconciler knows either.
	hosting/runner, hosting/release, platform/supervise < hosting/runner/process;
	# The same for the gates of data stores.
	hosting/pki, hosting/storegate, platform/supervise < hosting/gatekeeper;

	# tenancy: tokens, passwords and identity providers know nothing of the users that have them; what is kept
	# in SQL has tables of its own.
	API < tenancy/role;
	NONE < tenancy/issuer, tenancy/access/token, tenancy/access/password;
	tenancy/access/token, PLAIN < tenancy/access/oidc;
	platform/database, PLAIN, tenancy/access/password, tenancy/access/oidc < tenancy/access;
	platform/database, PLAIN < tenancy/audit;
	tenancy/audit, API < tenancy/audit/kubeaudit;

	# workers: what makes a machine a node are processes of its host, the same for provided machines and for those
	# that join.
	API, PLAIN < workers/addons, workers/machine;
	NONE < workers/addons/gatewayapi/generate;
	workers/machine, hosting/release, platform/supervise, platform/kube < workers/node;
	platform/osthread, platform/procroot, platform/spawn, platform/links, platform/healthz, hosting/egress, workers/node < workers/machine/local/guest;
	workers/machine/local/guest, platform/hostcheck < workers/machine/local;
	workers/machine, hosting/release < workers/machine/manual;
	workers/node, platform/links, PLAIN < workers/join;
	workers/addons, workers/machine, hosting/release, platform/kube < workers/prepare;

	API, PLAIN, platform/kube, platform/operator, tenancy/role, workers/addons, workers/machine,
	hosting/pki, hosting/atrest, hosting/datastore, hosting/storegate, hosting/release, hosting/gateway, hosting/egress, hosting/runner < MECHANISMS;

	# clusters: the driver interface and its drivers. A driver does not know another one; only "all" knows them.
	API, PLAIN < clusters/provision;
	# Agents in clusters: the record of each, the connection that it keeps, and what starts it.
	tenancy/access/token < clusters/enrollment;
	NONE < clusters/tunnel, clusters/manifests;
	# The one way to the API servers of clusters, for what looks at them.
	API, PLAIN, platform/kube, hosting/egress, clusters/enrollment < clusters/connection;
	MECHANISMS, clusters/provision < clusters/provision/hosted;
	clusters/connection, clusters/tunnel, clusters/provision < clusters/provision/imported;
	clusters/provision/hosted, clusters/provision/imported < clusters/provision/all;
	# API servers that are simulated are called as others are: they know nothing of those who call them.
	platform/healthz, PLAIN < clusters/simulator;

	# What runs in clusters is kept in SQL, and collected by watching them; no reconciler of KQueen's own objects reads it.
	platform/database, PLAIN < clusters/inventory;
	# Lists of clusters are read in one way, and looked at in several.
	PLAIN < clusters/listing;
	clusters/listing < clusters/topology, clusters/usage;
	# What API servers have stored is told without them.
	clusters/listing, hosting/datastore < clusters/stored;
	API, clusters/inventory, clusters/listing < clusters/collector;
	# Backups are kept in a format that knows nothing of what is in them.
	PLAIN < clusters/archive;
	clusters/archive < clusters/archive/s3;
	API, clusters/archive < clusters/backupstore;
	clusters/backupstore, hosting/datastore < clusters/changelog;

	# The agent runs in clusters of others: it knows no more than it needs there.
	api/rest, clusters/tunnel, tenancy/access/token < agent < cmd/kqueen-agent;

	# Reconcilers meet through objects in the API. They know the interfaces of drivers and runners and none of
	# those, so that a new one changes no reconciler.
	MECHANISMS, platform/jobs, clusters/changelog, clusters/stored < clusters/backup;
	MECHANISMS, platform/jobs, clusters/changelog < clusters/backupschedule;
	API, platform/cron < clusters/maintenance;
	# When a cluster sleeps is decided by windows, and by what is found in it.
	clusters/maintenance, clusters/listing < clusters/hibernation;
	# A rotation tells by the hash of what machines trust which of them follow.
	MECHANISMS, clusters/listing, workers/machine < clusters/rotation;
	# An upgrade looks into its cluster before it changes it, as others do that look into clusters.
	MECHANISMS, clusters/listing, clusters/maintenance, clusters/stored < clusters/upgrade;
	# A rehearsal is of an upgrade: it asks what that would be.
	platform/jobs, clusters/stored, clusters/upgrade < clusters/rehearsal;
	MECHANISMS, clusters/provision, clusters/hibernation < clusters/cluster;
	MECHANISMS, clusters/provision < hosting/controlplane, workers/nodepool, workers/machinecontroller;
	# Pools follow the need of pods, which is looked at within bounds as others do that look into clusters.
	MECHANISMS, clusters/listing < workers/autoscaler;
	MECHANISMS, platform/admission < tenancy/organization;
	MECHANISMS, tenancy/access/oidc < tenancy/identityprovider;

	# The face of the admin plane. That of one machine is described as a tenant's control plane is.
	API < engine/conversion;
	MECHANISMS, platform/admission, platform/supervise, engine/conversion < engine;
	engine, hosting/controlplane, hosting/gatekeeper < engine/standalone;

	# The one way in by HTTP.
	API < server/socket;
	server/socket, platform/supervise, tenancy/access, tenancy/audit, clusters/simulator < server/status;
	MECHANISMS, tenancy/access, tenancy/organization < server/problem;
	server/problem, server/socket, tenancy/access, tenancy/audit, tenancy/identityprovider, platform/idempotency < server/chain;
	server/chain < server/reference, server/rights, server/kubestatus;
	server/kubestatus < server/kubeapi;
	server/kubestatus, tenancy/issuer < server/clusterapi;
	# The documentation is in the program, which serves it.
	NONE < docs;
	docs, server/reference < server/site;
	NONE < web;
	API, server/chain < server/portal;
	NONE < server/body;
	server/rights, server/body < server/objects;
	server/rights < server/accounts, server/auditlog;
	server/rights, workers/addons < server/catalogue;
	server/rights, clusters/inventory, clusters/topology, clusters/usage < server/fleet;
	server/rights, tenancy/issuer < server/secrets;
	server/rights, clusters/enrollment, clusters/tunnel, clusters/manifests < server/agents;
	server/accounts < server/pages;
	server/site, server/kubeapi, server/clusterapi, server/objects, server/catalogue, server/fleet, server/secrets, server/agents, server/auditlog, server/pages, server/portal, web < server;

	# The one place that wires, and the command line above it.
	platform/sealedtar, clusters/archive/s3, clusters/backup, clusters/backupschedule, clusters/rehearsal, clusters/rotation, clusters/cluster, clusters/provision/all, clusters/collector, clusters/simulator, clusters/tunnel, engine, hosting/controlplane, hosting/gatekeeper, hosting/runner/process, server, server/status, tenancy/audit/kubeaudit,
	workers/nodepool, workers/autoscaler, workers/machinecontroller, workers/machine/local, workers/machine/manual, workers/prepare < app;

	# The command line. What commands share knows no kind of object; commands meet in the root command alone.
	NONE < cli/program;
	client < cli/exit < cli/console, cli/command;
	API, client < cli/objects;
	cli/console, cli/program, cli/objects, PLAIN < cli/connection;
	cli/connection, cli/command < cli/kinds < cli/progress, cli/describe;
	cli/kinds, platform/kube < cli/clusteraccess;
	cli/progress < cli/verbs;
	cli/verbs, cli/describe, cli/clusteraccess < COMMANDS;
	COMMANDS < cli/client/activity, cli/client/addon, cli/client/audit, cli/client/backup, cli/client/inventory, cli/client/organization, cli/client/provisioner, cli/client/release, cli/client/rotation, cli/client/upgrade;
	COMMANDS, tenancy/access/token < cli/client/access;
	COMMANDS, hosting/pki, clusters/manifests < cli/client/cluster;
	COMMANDS, workers/machine < cli/client/nodes;
	app, cli/connection < cli/here;
	cli/console, PLAIN < cli/daemon;
	# What a demonstration consists of is made by the REST API alone.
	API, PLAIN, client, clusters/simulator < cli/demo;
	cli/here, cli/daemon, cli/demo, cli/command, cli/clusteraccess, engine/standalone, platform/logfile, platform/redact < cli/host;
	cli/here, cli/daemon, cli/command, cli/progress, workers/join < cli/node;
	cli/client/access, cli/client/activity, cli/client/addon, cli/client/audit, cli/client/backup, cli/client/cluster, cli/client/inventory, cli/client/nodes, cli/client/organization,
	cli/client/provisioner, cli/client/release, cli/client/rotation, cli/client/upgrade, cli/host, cli/node < cli < cmd/kqueen;

	# Programs for developers.
	PLAIN < docs/generate;
	NONE < docs/examples;
	clusters/provision < docs/examples/cloud;
	workers/machine < docs/examples/rack;
	hosting/release < kubernetes/build;
	hosting/release, PLAIN < kubernetes/generate;
	NONE < platform/freeport;
	app, platform/freeport < test/conformance;
	app, platform/freeport, clusters/inventory < bench;
	platform/kube < test/charts/program;

	# Packages for tests. Only tests and each other may import them.
	hosting/release, hosting/pki, API < hosting/controlplanetest;
	PLAIN < hosting/cis;
	hosting/release < hosting/release/releasetest;
	NONE < platform/suitetest;
	platform/spawn, platform/handover < platform/supervise/programtest;
	hosting/runner, platform/suitetest, platform/supervise/programtest < hosting/runner/runnertest;
	platform/supervise < platform/supervise/supervisetest;
	platform/operator < platform/operator/operatortest;
	platform/atomicfile < platform/atomicfile/powerloss;
	platform/database < platform/database/databasetest;
	clusters/provision < clusters/provision/provisiontest;
	clusters/archive < clusters/archive/archivetest;
	hosting/controlplanetest < clusters/archive/s3/s3test;
	workers/machine, platform/suitetest < workers/machine/machinetest;
	NONE < tenancy/access/oidc/oidctest;
	api/rest < cli/clitest;
	NONE < cli/manual;
	NONE < server/socket/sockettest;
	docs < test/pages;
	docs, API, platform/freeport < test/e2e;
`

// testImports are the packages that the tests of a package may import beside those that importTable allows.
var testImports = map[string]map[string]string{
	"clusters/cluster":   {"clusters/provision/hosted": "the reconciler is tested with a real driver, not with a fake alone"},
	"clusters/collector": {"clusters/simulator": "collects from API servers whose truth the test knows"},
	"clusters/topology":  {"clusters/simulator": "asks an API server whose truth the test knows"},
	"clusters/usage":     {"clusters/simulator": "asks an API server whose truth the test knows"},
	"workers/node":       {"hosting/pki": "its kubelet has certificates of an authority"},
	"hosting/egress":     {"platform/osthread": "makes a network for one thread alone"},
	"hosting/datastore":  {"platform/freeport": "starts an etcd"},
	"hosting/storegate": {
		"hosting/pki":       "its etcd, its tenants and the gate have the certificates that they have in an installation",
		"platform/freeport": "starts etcds and gates",
	},
	"server": {
		"agent":               "the agent itself enrolls and connects",
		"clusters/connection": "calls the cluster by the agent",
		"clusters/simulator":  "is asked about a cluster whose truth the test knows",
	},
	"workers/addons": {
		"platform/kube":   "what it says is applied to a real API server as it is in a cluster",
		"hosting/release": "reads which version node/traefik is built with",
	},
	"test/e2e": {
		"platform/confine":  "knows the users of programs by their range",
		"platform/links":    "has machines of its own, with links of this host",
		"platform/osthread": "enters networks and mounts disks for one thread alone",
		"platform/relay":    "has a network of its own for a browser, with ports of this host",
		"hosting/datastore": "runs an etcd of an operator's own",
		"clusters/tunnel":   "knows for how long an agent may be silent",
		"hosting/pki":       "with keys for it",
	},

	"hosting/controlplane": {
		"hosting/runner/process": "runs that API server",
		"platform/supervise":     "keeps it alive, and shows that its process stays the same",
		"tenancy/issuer":         "its tokens are given to a real API server that runs from what is described",
	},
}

// testPackages are the packages that only tests may import.
var testPackages = []string{
	"hosting/cis",
	"hosting/controlplanetest",
	"hosting/release/releasetest",
	"platform/suitetest",
	"platform/supervise/programtest",
	"hosting/runner/runnertest",
	"platform/supervise/supervisetest",
	"platform/operator/operatortest",
	"platform/atomicfile/powerloss",
	"clusters/archive/archivetest",
	"clusters/archive/s3/s3test",
	"clusters/provision/provisiontest",
	"workers/machine/machinetest",
	"platform/database/databasetest",
	"tenancy/access/oidc/oidctest",
	"cli/clitest",
	"cli/manual",
	"server/socket/sockettest",
	"test/pages",
	"test/e2e",
}

// guards keep packages of others within the packages that are there for them. Tests may import them anywhere.
var guards = []guard{
	{
		packages: []string{
			"k8s.io/client-go/rest", "k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/discovery",
			"k8s.io/client-go/metadata", "k8s.io/client-go/informers", "k8s.io/client-go/transport",
		},
		except: []string{"k8s.io/client-go/kubernetes/scheme"},
		why:    "speak to an API server through internal/platform/kube, or through a client.Client that the caller hands in",
		allowed: map[string]string{
			"platform/kube":       "is there for that",
			"clusters/connection": "is there for the clusters of others, which it guards against",
			"agent":               "calls the API server beside it; platform/kube links what would make the program several times as large",
			"engine":              "hands the *rest.Config of the admin plane to package app",
			"app":                 "starts the manager of the admin plane",
			"bench":               "measures without what it measures",
			"clusters/listing":    "lists clusters of others with bounds on bytes, items and time that no client library has",
			"clusters/rehearsal":  "writes objects of kinds that it does not know, as they are stored, by what an API server says that it serves",
			"clusters/collector":  "has a configuration handed in, of which clusters/listing makes connections",
		},
	},
	{
		packages: []string{"os/exec"},
		why:      "processes are run by internal/platform/supervise, which finds them again after a crash",
		allowed: map[string]string{
			"hosting/release":                    "runs the go command to build Kubernetes",
			"cli/daemon":                         "starts this program in the background",
			"cli/host":                           "builds what nodes run in the background, and calls systemctl",
			"cli/client/access":                  "starts the user's browser",
			"kubernetes/generate":                "runs the go command to read upstream's go.mod",
			"workers/addons/gatewayapi/generate": "runs the go command to find upstream's files",
			"bench":                              "starts the programs that it measures",
			"test/conformance":                   "starts kqueen and upstream's tests",

			"workers/node": "looks whether nft or iptables is there, and runs containerd's client to import images before the kubelet starts",
			"workers/join": "runs kube-proxy once more, to remove its rules when the machine leaves",
		},
	},
	{
		packages: []string{"go.etcd.io/etcd"},
		why:      "etcd is spoken to in internal/hosting/datastore and by its gate alone",
		allowed: map[string]string{
			"hosting/datastore":   "is there for that",
			"hosting/storegate":   "speaks to tenants as etcd does, and to etcd as each of them",
			"cli/host":            "is etcd when it is called by that name",
			"test/charts/program": "is etcd, which a chart runs, when it is called by that name",
		},
	},
	{
		packages: []string{"github.com/minio/minio-go"},
		why:      "S3 servers are spoken to in internal/clusters/archive/s3 alone, with bounds on time and bytes",
		allowed:  map[string]string{"clusters/archive/s3": "is there for that"},
	},
	{
		packages: []string{"github.com/spf13/cobra"},
		why:      "commands and flags are the business of internal/cli",
		allowed: map[string]string{
			"cli/...":             "is there for that",
			"kubernetes/generate": "names it in the program that it writes",
		},
	},
	{packages: []string{"testing"}, why: "what is for tests stands in a _test.go file or in a package that is for tests"},
}

// bannedCalls may be made only by those named, and by tests where that is said.
var bannedCalls = []bannedCall{
	{
		call: "time.Sleep", inTests: true,
		why: "wait for the thing itself: a channel, a context, a watch; or poll with a ticker under a deadline",
	},
	{
		// Tests are looked at by the linter usetesting.
		call: "context.Background", inMain: true,
		why: "take the caller's context, so that it ends when the caller does",
		allowed: map[string]string{
			"cli":                "is what main calls: the program's life begins there",
			"platform/supervise": "a supervisor's life is its own: it ends by Close, not with its maker",
		},
	},
	{call: "context.TODO", inTests: true, why: "do it now"},
	{call: "panic", inMain: true, why: "return an error"},
	{call: "os.Exit", inMain: true, why: "return an error; main alone decides how the program ends"},
	{
		call: "syscall.StartProcess", why: "processes are run by internal/platform/supervise",
		allowed: map[string]string{
			"platform/supervise":          "is there for that",
			"platform/spawn":              "starts what supervise asks for, in other namespaces",
			"workers/machine/local/guest": "starts process 1 of a machine from a thread that is made for it",
		},
	},
	{call: "os.StartProcess", why: "processes are run by internal/platform/supervise"},
	{
		call: "os.WriteFile", inMain: true, why: "a loss of power leaves half of the file: write it by internal/platform/atomicfile",
		allowed: map[string]string{
			"hosting/release": "fills a folder whose manifest has the hashes, and which is moved into place as a whole",
			"workers/node":    "writes settings of the kernel, which are no files on a disk",

			"workers/machine/local/guest": "writes to a file system in memory, which a loss of power leaves nothing of",
		},
	},
	{
		call: "os.Rename", inMain: true, why: "the new name is not durable: write the file by internal/platform/atomicfile",
		allowed: map[string]string{
			"platform/atomicfile": "is there for that",
			"hosting/release":     "moves folders",
			"platform/supervise":  "turns over logs, which may be lost",
			"cli/daemon":          "moves logs aside, which may be lost",
			"hosting/egress":      "puts a socket in the place of another one, which ends with its process",
			"platform/handover":   "names a socket, which ends with its process",
		},
	},
	{call: "syscall.ForkExec", why: "processes are run by internal/platform/supervise"},
	{
		call: "runtime.LockOSThread", inTests: true,
		why: "the first thread of a process never ends, and is by what the process is seen: run what changes a thread by internal/platform/osthread",
		allowed: map[string]string{
			"platform/osthread":              "is there for that",
			"platform/database/databasetest": "starts a process that ends with the thread",
			"workers/machine/local/guest":    "is process 1 of a machine, whose first thread is in the machine",
		},
	},
}

// The limits. Lines are counted with comments and blank lines.
const (
	maxFileLines      = 500
	maxFunctionLines  = 80
	maxReconcileLines = 60 // of functions named Reconcile
	maxMethods        = 5  // of an interface
	minCommentLines   = 2  // of a package
)

// bannedNames say nothing about what is inside, so everything ends up there.
var bannedNames = []string{
	"util", "utils", "common", "helper", "helpers", "types", "manager", "managers", "misc", "base", "shared", "lib",
}

func TestImports(t *testing.T) {
	table, err := parseTable(importTable)
	if err != nil {
		t.Fatal(err)
	}
	report(t, checkImports(readSource(t), table, testPackages, testImports))
}

func TestGuardedImports(t *testing.T) { report(t, checkGuards(readSource(t), guards, testPackages)) }

func TestBannedCalls(t *testing.T) { report(t, checkCalls(readSource(t), bannedCalls, testPackages)) }

func TestForm(t *testing.T) { report(t, checkForm(readSource(t))) }

// TestNothingEmpty fails when there is a folder with nothing in it: what is not there yet is in the design, not on disk.
func TestNothingEmpty(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path == ".git" || path == "bin" || path == "dist" || entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		entries, err := os.ReadDir(path)
		if err == nil && len(entries) == 0 {
			t.Errorf("folder %s is empty; remove it until something stands in it", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func report(t *testing.T, violations []string) {
	t.Helper()
	for _, v := range violations {
		t.Error(v)
	}
}
