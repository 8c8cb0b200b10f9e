// Package kqueen_test holds the rules of the house as tests: who may import whom,
// how long things may be, what may not be called, and how rooms are named.
//
// This file is the law: its tables are what a change of the architecture changes.
// house_table_test.go reads the table of imports, house_rules_test.go and
// house_form_test.go apply the rules, and house_broken_test.go shows each rule a
// house that breaks it. Each exception stands in a table beside its reason, and one that is not needed any
// more is a violation itself. What golangci-lint can say is in .golangci.yml.
package kqueen_test

import (
	"os"
	"path/filepath"
	"testing"
)

// module is the path of this module; rooms are named without it.
const module = "kqueen.io/kqueen"

// importTable says who may import whom. "a, b < c, d" says that c and d may import a and b, and whatever a
// and b may. Nothing else may be imported: rooms of one floor do not know each other. A name in capitals
// stands for all that is below it. The tests of a room may import what the room may, the room itself and
// the rooms that are for tests.
const importTable = `
	# The nouns import nothing.
	NONE < api/v1alpha1, api/crds < API;

	# Mechanisms: each can be used and tested alone.
	NONE < internal/pki, internal/datastore, internal/release, internal/kube, internal/runner;
	NONE < internal/osthread, internal/relay;
	internal/relay < internal/gateway, internal/egress;
	internal/runner, internal/osthread < internal/runner/process;
	API < internal/operator, internal/addons, internal/machine;

	# What is not intent is kept in SQL, by whoever knows it: each has tables of its own.
	NONE < internal/database, internal/issuer;
	internal/database < internal/audit, internal/idempotency;
	# An API server's own log is read in the words of the nouns.
	internal/audit, API < internal/audit/planelog;
	# Who somebody is: tokens, passwords and identity providers are known apart from who has them.
	NONE < internal/access/token, internal/access/password;
	internal/access/token < internal/access/oidc;
	internal/database, internal/access/password, internal/access/oidc < internal/access;
	API < internal/role;
	API, internal/pki, internal/datastore, internal/release, internal/gateway, internal/egress, internal/kube, internal/operator, internal/runner, internal/addons, internal/machine, internal/role < MECHANISMS;

	# Providers of machines are described to a runner, as control planes are, and know no runner.
	# What makes a machine a node is one thing for those that KQueen makes and those that somebody brings.
	internal/machine, internal/release, internal/runner < internal/machine/node;
	internal/osthread, internal/relay, internal/egress, internal/machine/node < internal/machine/local/guest;
	internal/machine/node, internal/machine/local/guest < internal/machine/local;
	internal/machine/node < internal/machine/brought;
	internal/machine, internal/release < internal/machine/manual;

	# The plug and its drivers. A driver does not know another one; only "all" knows them.
	API < internal/provision;
	MECHANISMS, internal/provision < internal/provision/hosted < internal/provision/all;

	# Verbs: they meet through nouns in the API. They know the plug but no driver: a new driver changes no verb.
	# They know the face of the runner but no runner.
	MECHANISMS, internal/provision < internal/organization, internal/cluster, internal/controlplane, internal/nodepool, internal/worker;

	# By whom people sign in: it asks issuers, and knows nobody who signs in.
	MECHANISMS, internal/access/oidc < internal/identityprovider;

	# The admin plane of one machine is described with the table of components that a tenant's is.
	internal/controlplane < internal/standalone;

	# The door: whoever comes in by HTTP comes in here.
	NONE < api/rest;
	MECHANISMS, api/rest, internal/access, internal/audit, internal/idempotency, internal/issuer, internal/organization, internal/identityprovider < internal/server;

	# The one place that wires, and what stands before it.
	internal/organization, internal/cluster, internal/standalone, internal/server, internal/provision/all, internal/runner/process,
	internal/nodepool, internal/worker, internal/machine/local, internal/machine/manual, internal/audit/planelog < internal/app;
	# The public client knows the words that go over the wire and nothing else of the house: whoever writes a program of their own gets nothing more.
	api/rest < client;
	# Commands that know objects know them as a Kubernetes client has them, whichever way they go.
	API, client < internal/cli/doorclient;
	internal/egress, internal/app, internal/machine/brought, internal/cli/doorclient < internal/cli < cmd/kqueen;

	# Programs for developers.
	NONE < docs/generate;
	internal/release < kubernetes/generate;
	internal/app < bench, test/conformance;

	# Rooms that are for tests. Only tests and each other may import them.
	internal/release, API < internal/testplane;
	internal/runner < internal/runner/runnertest;
	internal/operator < internal/operator/operatortest;
	internal/provision < internal/provision/provisiontest;
	internal/machine < internal/machine/machinetest;
	internal/database < internal/database/databasetest;
	NONE < internal/access/oidc/oidctest;
	API, api/rest < test/e2e;
`

// testImports are the rooms that the tests of a room may import beside those that importTable allows.
var testImports = map[string]map[string]string{
	"internal/cluster": {"internal/provision/hosted": "the verb is tested with a real driver, not with a fake alone"},
	"internal/addons":  {"internal/kube": "what it says is applied to a real API server as it is in a cluster"},

	"internal/controlplane": {
		"internal/issuer":         "its tokens are brought to a real API server that runs from what is described",
		"internal/runner/process": "runs that API server",
	},
	"internal/machine/local": {"internal/runner/process": "machines are real processes, which a real runner finds again"},
}

// testRooms are the rooms that only tests may import.
var testRooms = []string{
	"internal/testplane",
	"internal/runner/runnertest",
	"internal/operator/operatortest",
	"internal/provision/provisiontest",
	"internal/machine/machinetest",
	"internal/database/databasetest",
	"internal/access/oidc/oidctest",
	"test/e2e",
}

// guards keep packages of others within the rooms that are there for them. Tests may import them anywhere.
var guards = []guard{
	{
		packages: []string{
			"k8s.io/client-go/rest", "k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/discovery",
			"k8s.io/client-go/metadata", "k8s.io/client-go/informers", "k8s.io/client-go/transport",
		},
		except: []string{"k8s.io/client-go/kubernetes/scheme"},
		why:    "speak to an API server through internal/kube, or through a client.Client that somebody hands in",
		rooms: map[string]string{
			"internal/kube": "is there for that",
			"internal/app":  "starts the manager of the admin plane",
			"internal/cli":  "hands the *rest.Config of internal/kube around; it opens no connection with it",
			"bench":         "measures without what it measures",
		},
	},
	{
		packages: []string{"os/exec"},
		why:      "processes are run by internal/runner, which finds them again after a crash",
		rooms: map[string]string{
			"internal/release":    "runs the go command to build Kubernetes",
			"internal/cli":        "starts itself in the background, and the user's browser",
			"kubernetes/generate": "runs the go command to read upstream's go.mod",
			"bench":               "starts the programs that it measures",
			"test/conformance":    "starts kqueen and upstream's tests",

			"internal/machine/node":    "looks whether nft or iptables is there, and runs containerd's client to import images before the kubelet starts",
			"internal/machine/brought": "runs kube-proxy once more, to remove its rules when the machine leaves",
		},
	},
	{
		packages: []string{"go.etcd.io/etcd"},
		why:      "etcd is spoken to in internal/datastore alone",
		rooms: map[string]string{
			"internal/datastore": "is there for that",
			"internal/cli":       "is etcd when it is called by that name",
		},
	},
	{
		packages: []string{"github.com/spf13/cobra"},
		why:      "commands and flags are the business of internal/cli",
		rooms: map[string]string{
			"internal/cli":        "is there for that",
			"kubernetes/generate": "names it in the program that it writes",
		},
	},
	{packages: []string{"testing"}, why: "what is for tests stands in a _test.go file or in a room that is for tests"},
}

// bannedCalls may be made by nobody but those named, and by tests where that is said.
var bannedCalls = []bannedCall{
	{
		call: "time.Sleep", inTests: true,
		why: "wait for the thing itself: a channel, a context, a watch; or poll with a ticker under a deadline",
	},
	{
		// Tests are looked at by the linter usetesting.
		call: "context.Background", inMain: true,
		why: "take the caller's context, so that it ends when the caller does",
		rooms: map[string]string{
			"internal/cli":            "is what main calls: the program's life begins there",
			"internal/runner/process": "a runner's life is its own: it ends by Close, not with whoever made it",
		},
	},
	{call: "context.TODO", inTests: true, why: "do it now"},
	{call: "panic", inMain: true, why: "return an error"},
	{call: "os.Exit", inMain: true, why: "return an error; main alone decides how the program ends"},
	{
		call: "syscall.StartProcess", why: "processes are run by internal/runner",
		rooms: map[string]string{"internal/runner/process": "is there for that"},
	},
	{call: "os.StartProcess", why: "processes are run by internal/runner"},
	{call: "syscall.ForkExec", why: "processes are run by internal/runner"},
}

// limits of the house. Lines are counted with comments and blank lines.
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
	report(t, checkImports(readHouse(t), table, testRooms, testImports))
}

func TestGuardedImports(t *testing.T) { report(t, checkGuards(readHouse(t), guards, testRooms)) }

func TestBannedCalls(t *testing.T) { report(t, checkCalls(readHouse(t), bannedCalls, testRooms)) }

func TestForm(t *testing.T) { report(t, checkForm(readHouse(t))) }

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
