//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
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
