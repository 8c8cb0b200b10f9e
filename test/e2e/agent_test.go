//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/clusters/tunnel"
)

// agentProcess is an agent that runs as a process beside its cluster, with the account and the rights that its manifests give to its pod.
type agentProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	log string
}

// startAgent adopts a cluster by an agent. kubectl speaks to the cluster, and command makes a command that runs beside it; kubeconfig leads
// there from there.
func (i *installation) startAgent(
	name, kubeconfig string, kubectl func(...string) result, command func(string, ...string) *exec.Cmd,
) *agentProcess {
	i.t.Helper()
	dir, err := os.MkdirTemp(i.base, "agent-")
	if err != nil {
		i.t.Fatal(err)
	}
	write := func(file, text string) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			i.t.Fatal(err)
		}
		return path
	}
	ok := func(args ...string) string {
		r := kubectl(args...)
		if r.code != 0 {
			i.t.Fatalf("kubectl %s: exit code %d:\n%s", strings.Join(args, " "), r.code, r.stderr)
		}
		return r.stdout
	}
	manifests := i.ok("cluster", "import", name, "--agent", "--members", "--manifest", "--agent-image", "example.invalid/kqueen-agent:none")
	file := write("manifests.yaml", manifests)
	ok("apply", "-f", file)
	ok("delete", "deployment", "-n", "kqueen", "kqueen-agent") // its image is nowhere
	var secret struct{ Data map[string][]byte }
	if err := json.Unmarshal([]byte(ok("get", "secret", "-n", "kqueen", "kqueen-agent-token", "-o", "json")), &secret); err != nil {
		i.t.Fatal(err)
	}
	token := strings.TrimSpace(ok("create", "token", "-n", "kqueen", "kqueen-agent"))
	cmd := command(programs.agent, "--server", serverIn(i.t, manifests), "--organization", "default", "--cluster", name,
		"--authority", write("ca.crt", string(secret.Data["ca.crt"])), "--token-file", write("token", string(secret.Data["token"])),
		"--kubeconfig", write("kubeconfig", withToken(i.t, kubeconfig, token)))
	a := &agentProcess{t: i.t, cmd: cmd, log: filepath.Join(dir, "log")}
	log, err := os.Create(a.log)
	if err != nil {
		i.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	return a
}

func (a *agentProcess) end() {
	if said, err := os.ReadFile(a.log); a.t.Failed() && err == nil {
		a.t.Logf("the agent says:\n%s", said)
	}
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait() // it was killed
}

// serverIn is the URL of KQueen in the manifests of an agent: the argument after --server.
func serverIn(t *testing.T, manifests string) string {
	t.Helper()
	_, after, _ := strings.Cut(manifests, "- --server\n")
	line, _, _ := strings.Cut(after, "\n")
	var url string
	if err := json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(line), "- ")), &url); err != nil {
		t.Fatalf("the manifests name no server: %v\n%s", err, manifests)
	}
	return url
}

// withToken is a kubeconfig for the same server, with a token and nothing else.
func withToken(t *testing.T, file, token string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	user := clientcmdapi.NewAuthInfo()
	user.Token = token
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{config.Contexts[config.CurrentContext].AuthInfo: user}
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAdoptedByAgent: a cluster of another installation, in a network into which nothing dials, is adopted by an agent that dials out. It is
// seen with its version and in the inventory, a member enters it, it is offline when its agent hangs, and letting it go leaves its objects
// as they were, and the agent without a way in.
func TestAdoptedByAgent(t *testing.T) {
	needRoot(t)
	parallel(t, 3*time.Minute)
	i := newInstallation(t)
	l := i.lan()
	i.up("--listen", l.gateway.String())
	b := l.box()
	b.start("joined.sh", "far")
	inside := func(args ...string) result { return b.within(append([]string{programs.kqueen}, args...)...) }
	dir := filepath.Join(b.dir, "other")
	ok := func(args ...string) string {
		r := inside(append(args, "--data-dir", dir)...)
		if r.code != 0 {
			t.Fatalf("kqueen %s in the machine: exit code %d:\n%s", strings.Join(args, " "), r.code, r.stderr)
		}
		return r.stdout
	}
	t.Cleanup(func() { ok("reset", "--yes") })
	ok(append([]string{"up", "--timeout", "5m"}, ports(t)...)...)
	ok("cluster", "create", "far", "--wait", "--timeout", "5m")
	config := filepath.Join(b.dir, "far.kubeconfig")
	b.write("far.kubeconfig", ok("cluster", "kubeconfig", "far", "--break-glass"))
	kubectl := func(args ...string) result {
		return b.within(append([]string{programs.kubectl, "--kubeconfig", config}, args...)...)
	}
	if r := i.tryKubectl(config, "", "get", "namespaces", "--request-timeout", "3s"); r.code == 0 {
		t.Fatal("the cluster can be dialed from the host")
	}
	a := i.startAgent("far", config, kubectl, b.inNetwork)
	t.Cleanup(a.end)
	i.ok("cluster", "wait", "far", "--timeout", "3m")
	if got := i.ok("cluster", "get", "far", "-o", "jsonpath={.status.version}"); got != programs.version {
		t.Errorf("it is seen as %q", got)
	}
	before := kubectl("get", "namespaces,serviceaccounts,clusterroles,clusterrolebindings", "-A", "-o", "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}")
	eventually(t, "it is observed", func(context.Context) error {
		if said := i.ok("inventory", "binaries", "--cluster", "far"); !strings.Contains(said, programs.version) {
			return errors.New(said)
		}
		return nil
	})
	entered := i.kubeconfig("default", "far")
	if got := i.kubectl(entered, "", "auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}"); !strings.Contains(got, "kqueen:cluster-admin") {
		t.Errorf("the member's groups are %s", got)
	}

	// It hangs: nothing is heard of it, and its connection stays.
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	i.await(t, "far", "Offline")
	if took := time.Since(begin); took < tunnel.LostAfter-tunnel.Heartbeat {
		t.Errorf("it is called offline after %v, before three heartbeats", took)
	}
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	i.ok("cluster", "wait", "far", "--timeout", "3m")

	i.ok("cluster", "delete", "far", "--yes", "--wait")
	after := kubectl("get", "namespaces,serviceaccounts,clusterroles,clusterrolebindings", "-A", "-o", "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}")
	if diff := cmp.Diff(before.stdout, after.stdout); diff != "" || before.stdout == "" {
		t.Errorf("its objects are others (-before +after):\n%s", diff)
	}
	eventually(t, "its agent is refused", func(context.Context) error {
		said, err := os.ReadFile(a.log)
		if err == nil && !strings.Contains(string(said), "does not know this agent") {
			err = fmt.Errorf("it says %s", said)
		}
		return err
	})
}

// await waits until the cluster is provisioned for a reason.
func (i *installation) await(t *testing.T, cluster, reason string) {
	t.Helper()
	eventually(t, "cluster "+cluster+" is "+reason, func(context.Context) error {
		got := i.ok("cluster", "get", cluster, "-o", `jsonpath={.status.conditions[?(@.type=="Provisioned")].reason}`)
		if got != reason {
			return errors.New(got)
		}
		return nil
	})
}
