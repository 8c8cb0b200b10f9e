//go:build linux

package e2e

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// briefLife is that of the certificates of an installation that lives fast: a third of it is left to renew them, also on a machine
// that is busy.
const briefLife = 30 * time.Second

// TestBriefCredentials: an installation whose certificates live half a minute goes on past the second renewal of every one, and
// past the end of the first. Its users notice nothing, and nothing is restarted that carries their calls.
func TestBriefCredentials(t *testing.T) {
	needRoot(t)
	parallel(t, 3*time.Minute)
	i := newInstallation(t)
	i.program = filepath.Join(i.base, "kqueen")
	if err := controlplanetest.Brief(t.Context(), i.program, briefLife); err != nil {
		t.Fatal(err)
	}
	i.up()
	i.ok("cluster", "create", "demo", "--wait")
	seen := renewals{}
	seen.look(i)
	config := i.asUser("demo")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	clients := &soak{installation: i, t: t}
	clients.load(ctx, "demo by the gateway", config)
	carry := func(w workloadStatus, c componentStatus) bool {
		return c.Name == "kube-apiserver" || slices.Contains([]string{"etcd", "etcd-admin", "store-gate", "egress", "gateway", "ingress"}, w.Name)
	}
	before := i.supervised(carry)

	seen.await(t, i, 1)
	i.ok("nodepool", "create", "demo", "--cluster", "demo", "--nodes", "1", "--wait") // webhooks, bootstrap and approval by what was renewed
	machine := i.workers("demo").machines()[0]
	seen.await(t, i, 2, kubeletClient(machine.Name), kubeletServer(machine.Name))
	if diff := cmp.Diff(before, i.supervised(carry)); diff != "" {
		t.Errorf("what carries the calls of users was restarted (-before +after):\n%s", diff)
	}
	callsKubelets(t, config)
	for _, l := range clients.loads {
		l.wantUndisturbed(t)
	}
	stop()
	for _, l := range clients.loads {
		l.done.Wait()
	}
	i.ok("cluster", "delete", "demo", "--yes", "--wait") // etcd's root user removes the keyspace
	t.Log(seen.closest())
}

// asUser is a cluster by the gateway, as a user of KQueen with a credential of an hour.
func (i *installation) asUser(cluster string) *rest.Config {
	i.t.Helper()
	var credential struct{ Status struct{ Token string } }
	if err := json.Unmarshal([]byte(i.ok("cluster", "credential", cluster, "--access", "cluster-admin")), &credential); err != nil || credential.Status.Token == "" {
		i.t.Fatalf("there is no token in the credential: %v", err)
	}
	return bearer(i.tenant("default", cluster), credential.Status.Token)
}

// callsKubelets has the API server call each node, through the egress and with a certificate of its own.
func callsKubelets(t *testing.T, config *rest.Config) {
	t.Helper()
	c := clientset(t, config)
	eventually(t, "the API server calls kubelets", func(ctx context.Context) error {
		nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil && len(nodes.Items) != 1 {
			err = fmt.Errorf("%d nodes", len(nodes.Items))
		}
		if err != nil {
			return err
		}
		answer, err := c.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/" + nodes.Items[0].Name + "/proxy/healthz").DoRaw(ctx)
		if err == nil && string(answer) != "ok" {
			err = fmt.Errorf("it says %q", answer)
		}
		return err
	})
}

// wantUndisturbed wants that no call failed, that what was acknowledged stayed, and that the watch was never cut.
func (l *load) wantUndisturbed(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, problem := range append(slices.Clone(l.lost), l.missed...) {
		t.Errorf("%s: %s", l.name, problem)
	}
	o := l.outages[l.fault]
	if o.failed > o.slow || o.cut > 0 || l.relists > 0 || l.acknowledged == 0 || l.seen == 0 {
		t.Errorf("%s: of %d reads %d failed (%d slow ones, the first one by %v); %d writes, watched to %d, cut %d times",
			l.name, l.reads, o.failed, o.slow, o.why, l.acknowledged, l.seen, o.cut)
	}
}

// renewals are the certificates that were seen one after the other, by where they are and whose.
type renewals map[string][]*x509.Certificate

// renewedThere are some of all, without which the look did not find what it is there for.
var renewedThere = []string{
	"admin.kubeconfig kubernetes-admin",
	"keys/admin-store.json root", "keys/admin.json front-proxy-client", "keys/admin.json kube-apiserver", "keys/admin.json system:kqueen",
	"keys/door.json kqueen-api", "keys/kqueen.crt system:kqueen", "keys/store-gate.json kqueen-store-gate", "keys/store.json etcd-peer",
	"keys/store.json root", "keys/webhooks.json kqueen-admin-apiserver",
	"run/workloads/UID/apiserver-kubelet-client.crt kube-apiserver-kubelet-client", "run/workloads/UID/apiserver.crt kube-apiserver",
	"run/workloads/UID/controller-manager.conf system:kube-controller-manager", "run/workloads/UID/etcd-client.crt kqueen-UID",
	"run/workloads/etcd/server.crt etcd-server", "run/workloads/store-gate/server.crt kqueen-store-gate",
	"run/workloads/store-gate/tenants.json kqueen-UID",
	"Secret kqueen-system/datastore-default/root.crt root", "Secret org-default/controlplane-UID/admin.crt kubernetes-admin",
	"Secret org-default/demo-kubeconfig/value kubernetes-admin",
}

// kubeletClient and kubeletServer are the two certificates of a node that its kubelet renews and the cluster signs.
func kubeletClient(node string) string { return "kubelet-client system:node:" + node }

func kubeletServer(node string) string { return "kubelet-server system:node:" + node }

// await looks until every certificate was renewed so many times, whatever it is, and none that is there has ended. Those with these names are
// there beside renewedThere.
func (r renewals) await(t *testing.T, i *installation, times int, there ...string) {
	t.Helper()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for begin := time.Now(); ; <-again.C {
		r.look(i)
		left := r.left(times, append(slices.Clone(renewedThere), there...))
		if len(left) == 0 {
			return
		}
		if time.Since(begin) > patience {
			t.Fatalf("not renewed %d times:\n%s", times, strings.Join(left, "\n"))
		}
	}
}

// left names what was not renewed so often, or has ended.
func (r renewals) left(times int, there []string) []string {
	var left []string
	for _, name := range there {
		if r[name] == nil {
			left = append(left, name+": is not there")
		}
	}
	for name, all := range r {
		if last := all[len(all)-1]; len(all) <= times || time.Now().After(last.NotAfter) {
			left = append(left, fmt.Sprintf("%s: %d times, until %s", name, len(all)-1, last.NotAfter.Format(time.TimeOnly)))
		}
	}
	slices.Sort(left)
	return left
}

// closest says which certificate was renewed when the one before had the least time left: what a busy machine took of the third.
func (r renewals) closest() string {
	name, least := "none", briefLife
	for n, all := range r {
		for at := range all[1:] {
			if left := all[at].NotAfter.Sub(all[at+1].NotBefore); left < least && all[at].NotAfter.Sub(all[at].NotBefore) <= briefLife {
				name, least = n, left
			}
		}
	}
	return fmt.Sprintf("renewed with %s left, which is the least: %s", least, name)
}

// look takes note of what is there now. What cannot be read at the moment is seen the next time.
func (r renewals) look(i *installation) {
	for _, pattern := range []string{"admin.kubeconfig", "keys/*", "run/workloads/*/*", "run/workloads/*/*/*"} {
		files, err := filepath.Glob(filepath.Join(i.dir, pattern))
		if err != nil {
			i.t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasPrefix(filepath.Base(path), ".") && strings.HasSuffix(path, ".tmp") {
				continue // it is being written, and gets its name when it is whole
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() < 1<<20 {
				r.file(i, path)
			}
		}
	}
	r.kubelets(i)
	secrets := &corev1.SecretList{}
	if err := i.admin().List(i.t.Context(), secrets); err != nil {
		return
	}
	for _, s := range secrets.Items {
		for key, data := range s.Data {
			r.note("Secret "+s.Namespace+"/"+s.Name+"/"+key, data)
		}
	}
}

func (r renewals) kubelets(i *installation) {
	machines, err := filepath.Glob(filepath.Join(i.dir, "run/workloads/*/root"))
	if err != nil {
		i.t.Fatal(err)
	}
	for _, root := range machines {
		for _, name := range []string{"kubelet-client", "kubelet-server"} {
			if data, err := keptByKubelet(filepath.Dir(root), name); err == nil {
				r.note(name, data)
			}
		}
	}
}

func (r renewals) file(i *installation, path string) {
	name, err := filepath.Rel(i.dir, path)
	data, readErr := os.ReadFile(path)
	if errors.Join(err, readErr) == nil {
		r.note(name, data)
	}
}

var (
	anyUID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	encodedPEM = regexp.MustCompile(`LS0tLS1CRUdJTiBDRVJU[A-Za-z0-9+/]+=*`) // what begins with "-----BEGIN CERT"
)

// note takes the certificates in a text that sign nothing, as they are or encoded in a kubeconfig or JSON.
func (r renewals) note(where string, text []byte) {
	for _, encoded := range encodedPEM.FindAll(text, -1) {
		if decoded, err := base64.StdEncoding.DecodeString(string(encoded)); err == nil {
			text = append(slices.Clone(text), append([]byte("\n"), decoded...)...)
		}
	}
	for block, more := pem.Decode(text); block != nil; block, more = pem.Decode(more) {
		c, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil || c.IsCA {
			continue
		}
		name := anyUID.ReplaceAllString(where+" "+c.Subject.CommonName, "UID")
		if all := r[name]; len(all) == 0 || !all[len(all)-1].Equal(c) {
			r[name] = append(all, c)
		}
	}
}
