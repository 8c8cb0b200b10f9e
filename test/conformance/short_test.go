//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// short are quick tests, each of which needs something else of a cluster, in the order of their names. Of custom resources it is
// one that has some: where a definition without any is deleted, the API server may take the failure "storage is (re)initializing"
// and then a conflict for the end of its work, and finalizes it minutes later (kubernetes/kubernetes#138085). Of aggregated APIs there is none: the
// one test asks for what is discovered as soon as the API answers, and may find it stale (kubernetes/kubernetes#133495, mended for v1.37). The
// end-to-end tests call the one of metrics-server.
func short() []string {
	return []string{
		"External Storage [Driver: local-volumes.kqueen.io] [Testpattern: Dynamic PV (default fs)] fsgroupchangepolicy (Always)[LinuxOnly], pod created with an initial fsgroup, new pod fsgroup applied to volume contents",
		"External Storage [Driver: local-volumes.kqueen.io] [Testpattern: Dynamic PV (default fs)] volumes should store data",
		"[sig-api-machinery] AdmissionWebhook [Privileged:ClusterAdmin] should mutate configmap [Conformance]",
		"[sig-api-machinery] FieldValidation should create/apply a valid CR for CRD with validation schema [Conformance]",
		"[sig-apps] Deployment RollingUpdateDeployment should delete old pods and create new ones [Conformance]",
		"[sig-auth] ServiceAccounts ServiceAccountIssuerDiscovery should support OIDC discovery of service account issuer [Conformance]",
		"[sig-auth] ServiceAccounts should mount an API token into pods [Conformance]",
		"[sig-cli] Kubectl logs logs should be able to retrieve and filter logs [Conformance]",
		"[sig-network] DNS should provide DNS for the cluster [Conformance]",
		"[sig-network] Netpol NetworkPolicy between server and client should enforce policy to allow ingress traffic from pods in all namespaces [Feature:NetworkPolicy]",
		"[sig-network] Netpol NetworkPolicy between server and client should support a 'default-deny-all' policy [Feature:NetworkPolicy]",
		"[sig-network] Networking Granular Checks: Pods should function for intra-pod communication: udp [NodeConformance] [Conformance]",
		"[sig-network] Proxy version v1 should proxy through a service and a pod [Conformance]",
		"[sig-network] Services should be able to create a functioning NodePort service [Conformance]",
		"[sig-node] Ephemeral Containers [NodeConformance] will start an ephemeral container in an existing pod [Conformance]",
		"[sig-node] Pods should support remote command execution over websockets [NodeConformance] [Conformance]",
		"[sig-node] Security Context when creating containers with AllowPrivilegeEscalation should not allow privilege escalation when false [LinuxOnly] [NodeConformance] [Conformance]",
		"[sig-storage] Projected combined should project all components that make up the projection API [Projection] [NodeConformance] [Conformance]",
	}
}

// TestShort runs a few of upstream's tests on a cluster with two nodes. "make conformance" runs all.
func TestShort(t *testing.T) {
	controlplanetest.Real(t)
	if os.Geteuid() != 0 {
		t.Skip("only root makes machines on this host")
	}
	root, err := controlplanetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	tests := set{phases: []phase{{name: "parallel", focus: []string{focusOf(short())}}}}
	o := options{source: root, results: t.TempDir(), tests: tests, procs: 3, nodes: 2, level: v1alpha1.PodSecurityPrivileged}
	if o.program, err = controlplanetest.Kqueen(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, build := range []func() error{
		func() error { _, err := controlplanetest.Kubernetes(t.Context()); return err },
		func() error { _, err := controlplanetest.NodeParts(t.Context()); return err },
	} {
		if err := build(); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	suite, err := ensureSuite(t.Context(), root, &said)
	if err != nil {
		t.Fatal(err)
	}
	all, err := runAll(t.Context(), o, suite, &said)
	t.Log(said.String())
	if err != nil {
		showLog(t, o.results)
		t.Fatal(err)
	}
	for _, s := range sets() {
		if _, err := reasons(s.missing, all.known); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	var names []string
	for _, s := range all.specs {
		if s.State == stateSkipped && s.Message == "" {
			continue
		}
		names = append(names, s.Name)
		if s.State != statePassed {
			t.Errorf("%s: %s: %s", s.Name, s.State, s.Message)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(short(), names); diff != "" {
		t.Errorf("tests that ran (-want +got):\n%s", diff)
	}
	if t.Failed() {
		showLog(t, o.results)
	}
}

// focusOf is a regular expression that matches these names alone.
func focusOf(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, regexp.QuoteMeta(name))
	}
	return "(" + strings.Join(quoted, "|") + ")$"
}

// showLog shows the end of what the tests said; the folder goes with this test.
func showLog(t *testing.T, results string) {
	t.Helper()
	const most = 20 << 10
	log, err := os.ReadFile(filepath.Join(results, "parallel.log"))
	if err != nil {
		t.Log(err)
		return
	}
	t.Logf("%s", log[max(0, len(log)-most):])
}
