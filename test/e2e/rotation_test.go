//go:build linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestRotation replaces the certificate authority of a cluster, and then its token key, under a probe: the node is Ready throughout, no call
// of exec and logs fails but those that are under way when a kubelet ends, clients from before go on until the rotation is finished, and what
// the old authority signed is refused after that.
// KQueen is killed on the way. Then the encryption key is replaced.
func TestRotation(t *testing.T) {
	needRoot(t)
	parallel(t, 4*time.Minute)
	i := started(t)
	i.ok("cluster", "create", "demo", "--version", programs.before, "--nodes", "1", "--wait", "--timeout", patience.String())
	w := i.workers("demo")
	old := i.breakGlass("demo", "old")
	p := &probe{workers: w, kubeconfig: i.breakGlass("demo", "probe")}
	eventually(t, "the name service runs", func(context.Context) error { return p.find() })
	ctx, end := context.WithCancel(t.Context())
	defer end()
	probed := make(chan error, 1)
	go func() { probed <- p.run(ctx) }()
	calls := i.callsInto(ctx, "org-default/demo", "kube-system", p.pod, p.kubeconfig)
	loaded, unload := context.WithCancel(ctx)
	defer unload()
	s := &soak{installation: i, t: t}
	s.load(loaded, "from before", i.direct(configOf(t, old), "demo"))
	before := i.keysOf("demo")

	i.ok("cluster", "rotate", "ca", "demo", "--wait", "--timeout", patience.String())
	_, rotation, _ := strings.Cut(strings.TrimSpace(i.ok("rotation", "list", "-o", "name")), "/")
	t.Log(i.ok("rotation", "describe", rotation))
	s.loads[0].goesOn(t, 10)
	unload()
	s.loads[0].done.Wait()
	s.loads[0].flawless(t)
	young := i.breakGlass("demo", "new")
	i.breakGlass("demo", "probe")

	i.ok("cluster", "rotate", "finish", "demo", "--yes")
	i.halt()
	i.up()
	i.ok("rotation", "wait", rotation, "--timeout", patience.String())
	end()
	if err := <-probed; err != nil {
		t.Error(err)
	}
	calls.done.Wait()
	calls.flawless(t, 2)
	t.Logf("nodes were looked at %d times, the longest time without an answer is %s", p.looks, p.nodes.longest)
	p.kubeconfig = young
	eventually(t, "a kubeconfig from the middle of it goes on", func(context.Context) error { return p.call() })
	refusedAfter(t, configOf(t, old), configOf(t, young))
	after := i.keysOf("demo")
	if bytes.Equal(before["ca.key"], after["ca.key"]) || len(after["next-ca.key"]) > 0 {
		t.Error("the key of the old authority is still there, or the new one has not its place")
	}

	i.ok("cluster", "rotate", "service-account-key", "demo", "--wait", "--timeout", patience.String())
	token := strings.TrimSpace(i.kubectl(young, "", "create", "token", "default"))
	i.ok("cluster", "rotate", "finish", "demo", "--yes", "--wait", "--timeout", patience.String())
	if _, err := clientset(t, bearing(configOf(t, young), token)).Discovery().ServerVersion(); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
	if keys := i.keysOf("demo"); bytes.Equal(keys["sa.key"], after["sa.key"]) || !bytes.Equal(keys["ca.key"], after["ca.key"]) {
		t.Error("the token key is the old one, or another key was replaced")
	}
	i.rotateEncryption(t, young)
}

// rotateEncryption replaces the key by which Secrets are stored, after a backup and before one. KQueen is killed on the way. The backup of
// before is refused at the end, and the other one is restored.
func (i *installation) rotateEncryption(t *testing.T, kubeconfig string) {
	t.Helper()
	before, c := i.keysOf("demo"), clientset(t, configOf(t, kubeconfig)).CoreV1().Secrets("default")
	for n := range 40 {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("kept-%d", n)}, StringData: map[string]string{"value": fmt.Sprint(n)}}
		if _, err := c.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	i.ok("backup", "create", "before", "--cluster", "demo", "--wait", "--timeout", patience.String())
	i.ok("cluster", "rotate", "encryption-key", "demo")
	i.halt()
	i.up()
	var rotation string
	eventually(t, "all is encrypted with the new key", func(context.Context) error {
		for name := range strings.FieldsSeq(i.ok("rotation", "list", "-o", "name")) {
			if name = name[strings.LastIndex(name, "/")+1:]; strings.HasPrefix(name, "demo-encryption-key-") {
				rotation = name
			}
		}
		if said := i.ok("rotation", "get", rotation, "-o", "yaml"); !strings.Contains(said, "olderBackups: 1") || !strings.Contains(said, "reason: RotationAwaitsFinish") {
			return errors.New(said)
		}
		return nil
	})
	i.ok("backup", "create", "after", "--cluster", "demo", "--wait", "--timeout", patience.String())
	i.ok("cluster", "rotate", "finish", "demo", "--yes", "--wait", "--timeout", patience.String())
	after := i.keysOf("demo")
	if bytes.Equal(before["encryption.key"], after["encryption.key"]) || len(after["old-encryption.key"])+len(after["next-encryption.key"]) > 0 || !bytes.Equal(before["sa.key"], after["sa.key"]) {
		t.Error("the encryption key is the old one, or another key is left or was replaced")
	}
	if r := i.kqueen("restore", "create", "lost", "--backup", "before", "--compare-only", "--wait", "--timeout", "5s"); r.code == 0 || !strings.Contains(r.stdout+r.stderr, `another key "encryption"`) {
		t.Errorf("the backup of before: exit code %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if err := c.Delete(t.Context(), "kept-7", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	i.ok("restore", "create", "back", "--backup", "after", "--yes", "--wait", "--timeout", patience.String())
	eventually(t, "all Secrets are read", func(ctx context.Context) error {
		all, err := c.List(ctx, metav1.ListOptions{})
		if err == nil && len(all.Items) < 40 {
			err = fmt.Errorf("there are %d", len(all.Items))
		}
		return err
	})
}

// breakGlass writes a kubeconfig with a certificate of the cluster's own authority to a file of that name, all at once.
func (i *installation) breakGlass(cluster, name string) string {
	i.t.Helper()
	file := filepath.Join(i.base, cluster+"."+name+".kubeconfig")
	if err := os.WriteFile(file+"~", []byte(i.ok("cluster", "kubeconfig", cluster, "--break-glass")), 0o600); err != nil {
		i.t.Fatal(err)
	}
	if err := os.Rename(file+"~", file); err != nil {
		i.t.Fatal(err)
	}
	return file
}

func configOf(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout, config.QPS = 20*time.Second, -1
	return config
}

// bearing is a way to the same cluster with a token alone.
func bearing(c *rest.Config, token string) *rest.Config {
	c = rest.AnonymousClientConfig(c)
	c.BearerToken = token
	return c
}

// keysOf are the keys of a cluster's control plane.
func (i *installation) keysOf(cluster string) map[string][]byte {
	i.t.Helper()
	cp := &v1alpha1.ControlPlane{}
	if err := i.admin().Get(i.t.Context(), client.ObjectKey{Namespace: "org-default", Name: cluster}, cp); err != nil {
		i.t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := i.admin().Get(i.t.Context(), client.ObjectKey{Namespace: cp.Namespace, Name: cp.KeysSecret()}, secret); err != nil {
		i.t.Fatal(err)
	}
	return secret.Data
}

// refusedAfter: who trusts the old authority alone does not trust the API server, and a certificate of it opens nothing.
func refusedAfter(t *testing.T, old, young *rest.Config) {
	t.Helper()
	if _, err := clientset(t, old).Discovery().ServerVersion(); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("with the authority of before: %v", err)
	}
	stale := rest.CopyConfig(young)
	stale.CertData, stale.KeyData = old.CertData, old.KeyData
	_, err := clientset(t, stale).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if status := apierrors.APIStatus(nil); err == nil || !errors.As(err, &status) || status.Status().Code != http.StatusUnauthorized {
		t.Errorf("with a certificate of before: want 401, got %v", err)
	}
}

// probe looks at nodes all the time.
type probe struct {
	*workers
	kubeconfig string
	pod        string
	looks      int
	nodes      attempts
}

// attempts are calls that a caller tries again when one fails.
type attempts struct {
	last    time.Time // that one succeeded
	longest time.Duration
}

// note says what became of a call; an error when callers have tried for too long.
func (a *attempts) note(err error) error {
	now := time.Now()
	if a.last.IsZero() {
		a.last = now
	}
	if err != nil && now.Sub(a.last) > patience {
		return err
	}
	if err == nil {
		a.longest, a.last = max(a.longest, now.Sub(a.last)), now
	}
	return nil
}

// find looks for a pod to call.
func (p *probe) find() error {
	r := p.tryKubectl(p.kubeconfig, "", "get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-dns", "-o", "jsonpath={.items[0].metadata.name}")
	if p.pod = r.stdout; r.code != 0 || p.pod == "" {
		return fmt.Errorf("%s%s", r.stdout, r.stderr)
	}
	return p.call()
}

// call runs a command in the pod and reads its log.
func (p *probe) call() error {
	for _, args := range [][]string{{"exec", p.pod, "--", "/coredns", "-version"}, {"logs", p.pod, "--tail=1"}} {
		if r := p.tryKubectl(p.kubeconfig, "", append([]string{"-n", "kube-system"}, args...)...); r.code != 0 {
			return fmt.Errorf("%s: %s", args[0], r.stderr)
		}
	}
	return nil
}

// run is an error when a node was seen that is not Ready, or what is asked does not answer for longer than a caller tries again.
func (p *probe) run(ctx context.Context) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil // what was just tried again, its caller looks at
		case <-tick.C:
		}
		ready, err := p.ready()
		if ctx.Err() != nil {
			continue
		}
		if err == nil && ready != "True" {
			return fmt.Errorf("the node is Ready: %q", ready)
		}
		p.looks++
		if err := p.nodes.note(err); err != nil {
			return fmt.Errorf("its API server does not answer any more: %w", err)
		}
	}
}

// ready is what the condition Ready of all nodes says.
func (p *probe) ready() (string, error) {
	r := p.tryKubectl(p.kubeconfig, "", "get", "nodes", "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{" "}{end}`)
	if r.code != 0 {
		return "", errors.New(r.stderr)
	}
	return strings.TrimSpace(r.stdout), nil
}

// rotateAuthority replaces the authority of the cluster: its nodes, wherever they are, follow and stay.
func (w *workers) rotateAuthority() {
	w.t.Helper()
	w.ok("cluster", "rotate", "ca", "demo", "--wait", "--timeout", patience.String())
	w.ok("cluster", "rotate", "finish", "demo", "--yes", "--wait", "--timeout", patience.String())
	w.config = w.kubeconfig("default", "demo")
}
