//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// person gives commands as a user who has signed in: with nothing of the installation but its URL and its authority.
type person struct {
	*installation

	config string // their file of contexts
}

// signIn signs a user in by the command line, with flags besides. Of the installation they know where it is and what its
// administrator tells them of its authority.
func (i *installation) signIn(d *api, name string, flags ...string) *person {
	i.t.Helper()
	return i.signInWith(d, name, apiPassword, flags...)
}

// signInWith is signIn with what is on standard input.
func (i *installation) signInWith(d *api, name, typed string, flags ...string) *person {
	i.t.Helper()
	p := &person{i, filepath.Join(i.base, name+".yaml")}
	var status struct{ APIFingerprint string }
	if err := json.Unmarshal([]byte(i.ok("status", "-o", "json")), &status); err != nil {
		i.t.Fatal(err)
	}
	cmd := i.command(i.program, append([]string{"login", strings.TrimSuffix(d.url, rest.Prefix), "--username", name, "--password-stdin",
		"--ca-fingerprint", status.APIFingerprint}, flags...)...)
	cmd.Env = append(cmd.Env, "KQUEEN_CONFIG="+p.config)
	cmd.Stdin = strings.NewReader(typed)
	if r := i.run(cmd); r.code != 0 {
		i.t.Fatalf("%s signs in: %s", name, r.stderr)
	}
	return p
}

// gives runs a command as the person. The data directory is not named, and the one that would be meant without is not
// there.
func (p *person) gives(args ...string) result {
	p.t.Helper()
	cmd := p.command(p.program, args...)
	cmd.Env = append(cmd.Env, "KQUEEN_CONFIG="+p.config)
	return p.run(cmd)
}

// can is gives for what has to succeed.
func (p *person) can(args ...string) string {
	p.t.Helper()
	r := p.gives(args...)
	if r.code != 0 {
		p.t.Fatalf("kqueen %s: exit code %d:\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// cannot is gives for what has to end with an exit code.
func (p *person) cannot(code int, args ...string) {
	p.t.Helper()
	if r := p.gives(args...); r.code != code {
		p.t.Errorf("kqueen %s: exit code %d, want %d:\n%s", strings.Join(args, " "), r.code, code, r.stderr)
	}
}

// TestMemberCommands lets an ordinary member live with a hosted cluster and its nodes, from the first hour to the end, by the
// command line and over HTTPS alone.
func TestMemberCommands(t *testing.T) {
	needRoot(t)
	parallel(t, 3*time.Minute)
	i := started(t)
	i.firstHour(t)
	d := i.api()
	d.as("root").member("victor")
	admin := i.signIn(d, "root")
	admin.can("member", "set", "victor", "--role", "viewer", "--org", "payments")
	alice, victor := i.signIn(d, "alice", "--org", "payments"), i.signIn(d, "victor", "--org", "payments")

	alice.can("release", "list")
	eventuallyCan(t, victor, "cluster", "list") // the rights of a member take a moment
	t.Run("Seen", func(t *testing.T) { memberSees(t, alice, victor) })
	t.Run("Nodes", func(t *testing.T) { memberScales(t, alice) })
	t.Run("Benchmark", func(t *testing.T) { nodesMeetCIS(t, i) })
	t.Run("Enters", func(t *testing.T) { memberUsesKubectl(t, alice) })
	t.Run("Refused", func(t *testing.T) {
		victor.cannot(4, "cluster", "delete", "demo", "--yes")
		victor.cannot(4, "nodepool", "scale", "demo", "--nodes", "3")
		victor.cannot(3, "cluster", "get", "demo", "--org", "default")
		victor.cannot(4, "cluster", "audit", "demo")
		if log := alice.can("cluster", "audit", "demo"); !strings.Contains(log, "  kqueen:alice  list nodes") {
			t.Errorf("the cluster's audit log does not say what alice did: %.2000s", log)
		}
		alice.cannot(4, "nodepool", "scale", "demo", "--nodes", "30")
		alice.cannot(4, "member", "set", "victor", "--role", "owner")
	})
	alice.can("cluster", "delete", "demo", "--yes", "--wait", "--timeout", patience.String())
	if out := alice.can("cluster", "list", "-o", "name"); out != "" {
		t.Errorf("there is still %s", out)
	}
	// A cluster that is applied is an update, of nothing when it is new.
	if out := admin.can("audit", "list", "--org", "payments", "--actor", "alice", "--action", "update", "-o", "json"); !strings.Contains(out, `"kind": "Cluster"`) {
		t.Errorf("the audit log does not say who made the cluster: %s", out)
	}
	recovers(t, i, d)
	export := filepath.Join(i.base, "log.jsonl")
	admin.can("audit", "export", "-A", "--file", export)
	i.ok("audit", "verify", "--file", export)
}

// recovers lets another administrator in, as if the first one had forgotten the password.
func recovers(t *testing.T, i *installation, d *api) {
	t.Helper()
	rescue := i.signInWith(d, "rescue", i.ok("user", "recover")+apiPassword, "--setup-token-file", "-")
	if reset := rescue.can("user", "reset", "root"); strings.TrimSpace(reset) == "" {
		t.Error("another administrator gives the first one no new password")
	}
	if out := rescue.can("audit", "list", "-A", "--action", "create-recovery-token", "-o", "json"); !strings.Contains(out, `"kind": "owner"`) {
		t.Errorf("the audit log does not say that an administrator was recovered: %s", out)
	}
}

// memberSees looks at a cluster in every way.
func memberSees(t *testing.T, alice, victor *person) {
	t.Helper()
	for _, p := range []*person{alice, victor} {
		if out := p.can("cluster", "list", "-A"); !strings.Contains(out, "payments") || !strings.Contains(out, "demo") {
			t.Errorf("the list of all organizations is\n%s", out)
		}
		var cluster struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Status   struct{ Endpoint string }
		}
		if err := json.Unmarshal([]byte(p.can("cluster", "get", "demo", "-o", "json")), &cluster); err != nil {
			t.Fatal(err)
		}
		if cluster.Kind != "Cluster" || cluster.Metadata.Name != "demo" || cluster.Metadata.Namespace != "org-payments" || cluster.Status.Endpoint == "" {
			t.Errorf("the cluster is %+v", cluster)
		}
		page := p.can("cluster", "describe", "demo")
		for _, want := range []string{"Organization:", "payments", "kube-apiserver", "Nodepools", "Events"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page that describes the cluster has no %q:\n%s", want, page)
			}
		}
		p.can("nodepool", "describe", "demo")
		p.can("event", "list", "--kind", "Cluster")
		p.can("cluster", "wait", "demo")
		p.can("quota")
	}
}

// memberScales lets one of two nodes be empty, and removes it.
func memberScales(t *testing.T, alice *person) {
	t.Helper()
	names := strings.Fields(alice.can("node", "list", "--cluster", "demo", "-o", "jsonpath={.items[*].metadata.name}"))
	if len(names) != 2 {
		t.Fatalf("there are the nodes %v", names)
	}
	alice.can("node", "describe", names[0])
	alice.can("node", "drain", names[0], "--force", "--timeout", patience.String())
	alice.can("node", "uncordon", names[0])
	alice.can("nodepool", "update", "demo", "--label", "team=blue")
	alice.can("nodepool", "scale", "demo", "--remove", names[0], "--wait", "--timeout", patience.String())
	alice.can("nodepool", "create", "hand", "--cluster", "demo", "--provider", "manual", "--nodes", "1")
	eventuallyCan(t, alice, "node", "join-command", "--pool", "hand")
	alice.can("nodepool", "delete", "hand", "--yes", "--timeout", patience.String())
}

// eventuallyCan gives a command until it succeeds, or says that machines elsewhere cannot reach this KQueen, which is as
// good: the token is asked for after that.
func eventuallyCan(t *testing.T, p *person, args ...string) {
	t.Helper()
	eventually(t, strings.Join(args, " "), func(context.Context) error {
		if r := p.gives(args...); r.code != 0 && !strings.Contains(r.stderr, "kqueen up --listen") {
			return errors.New(r.stderr)
		}
		return nil
	})
}

// memberUsesKubectl enters the cluster with a kubeconfig that holds no secret.
func memberUsesKubectl(t *testing.T, alice *person) {
	t.Helper()
	config := filepath.Join(alice.base, "demo.kubeconfig")
	alice.can("cluster", "kubeconfig", "demo", "--kubeconfig-out", config)
	cmd := alice.command(filepath.Join(alice.releases, programs.version, "kubectl"), "--kubeconfig", config, "get", "nodes", "-o", "name")
	cmd.Env = append(cmd.Env, "KQUEEN_CONFIG="+alice.config)
	if r := alice.run(cmd); r.code != 0 || strings.Count(r.stdout, "node/") != 1 {
		t.Errorf("kubectl shows %q: %s", r.stdout, r.stderr)
	}
}
