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
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"kqueen.io/kqueen/api/rest"
)

// TestInstallationBackup is the loss of a machine: an installation is backed up while it is written to, its data directory is deleted, and
// it comes back at another path with its clusters, their objects and pods, its users and its audit log.
func TestInstallationBackup(t *testing.T) {
	needRoot(t)
	parallel(t, time.Minute)
	i := started(t)
	d := i.api()
	root := i.setup(d)
	root.member("alice")
	alice := d.as("alice")
	i.ok("cluster", "create", "demo", "--nodes", "1", "--wait", "--timeout", "5m")
	w := i.workers("demo")
	w.kube("create", "deployment", "web", "--image", testImage(t), "--", "sleep", "1000000")
	w.kube("rollout", "status", "deployment/web", "--timeout=6m")
	i.ok("backup", "create", "before", "--cluster", "demo", "--wait", "--timeout", "5m")

	file, phrase := filepath.Join(i.base, "kqueen.backup"), filepath.Join(i.base, "passphrase")
	if err := os.WriteFile(phrase, []byte("five words that are no secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	writes := keepWriting(t, clientset(t, i.tenant("default", "demo")))
	acknowledged := writes.atLeast(50)
	i.ok("installation", "backup", file, "--passphrase-file", phrase)
	last := writes.end()
	was := identities(w)

	i.ok("down")
	lost := i.dir
	if err := os.RemoveAll(lost); err != nil {
		t.Fatal(err)
	}
	i.dir = filepath.Join(i.base, "elsewhere")
	i.refusesDamaged(t, file, phrase)
	i.ok("installation", "restore", file, "--passphrase-file", phrase)
	i.madeBefore(t, 48*time.Hour)
	i.up("--installation-backup-every", "6h", "--installation-backups-kept", "8")
	i.ok("cluster", "wait", "demo", "--timeout", "5m")

	found := map[string]bool{}
	for name := range strings.FieldsSeq(w.kube("get", "configmaps", "-o", "name")) {
		found[strings.TrimPrefix(name, "configmap/")] = true
	}
	for _, name := range acknowledged {
		if !found[name] {
			t.Errorf("%s was acknowledged before the backup began, and is not in what was restored", name)
		}
	}
	relists(t, clientset(t, i.tenant("default", "demo")), last)
	if now := identities(w); now != was {
		t.Errorf("cluster, node and pod were\n%s\nand are\n%s", was, now)
	}
	eventually(t, "the pod runs again", func(context.Context) error {
		if r := w.tryKubectl(w.config, "", "exec", "deployment/web", "--", "echo", "hello"); r.stdout != "hello\n" {
			return fmt.Errorf("it says %q: %s", r.stdout, r.stderr)
		}
		return nil
	})
	i.usersAreBack(t, root, alice)
	i.backupsAreBack(t, lost)
	i.backsItselfUp(t)
}

// madeBefore makes the installation older than it is.
func (i *installation) madeBefore(t *testing.T, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	if err := os.Chtimes(filepath.Join(i.dir, "keys", "audit.key"), then, then); err != nil {
		t.Fatal(err)
	}
}

// backsItselfUp wants one backup that the installation has taken by itself, which is whole.
func (i *installation) backsItselfUp(t *testing.T) {
	t.Helper()
	eventually(t, "the installation has backed itself up", func(context.Context) error {
		all, err := filepath.Glob(filepath.Join(i.dir, "installation-backups", "kqueen-*.backup"))
		if err != nil || len(all) != 1 {
			return errors.Join(err, fmt.Errorf("there are %v: %s", all, i.ok("status")))
		}
		if info, err := os.Stat(all[0]); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("it is open to others: %v, %v", info, err)
		}
		i.ok("installation", "verify", all[0])
		return nil
	})
}

// usersAreBack wants that a user's session and password are good, and the audit log's chain.
func (i *installation) usersAreBack(t *testing.T, root, alice *api) {
	t.Helper()
	var me rest.Me
	if alice.want(http.StatusOK, "GET", "/me", nil, &me); me.Name != "alice" {
		t.Errorf("the session is that of %q", me.Name)
	}
	root.as("alice")
	verified(t, root)
	for _, action := range []string{"back-up-installation", "restore-installation"} {
		if out := i.ok("audit", "list", "-A", "--action", action, "-o", "json"); !strings.Contains(out, `"owner"`) {
			t.Errorf("the audit log has of %s: %s", action, out)
		}
	}
}

// backupsAreBack wants that the first store of backups, which names a folder that is gone, has its files and takes others.
func (i *installation) backupsAreBack(t *testing.T, lost string) {
	t.Helper()
	i.ok("backup", "create", "after", "--cluster", "demo", "--wait", "--timeout", "5m")
	manifests, err := filepath.Glob(filepath.Join(i.dir, "backups", "*", "*", "backups", "*"))
	if err != nil || len(manifests) != 2 {
		t.Errorf("in the data directory are %d backups of clusters (%v), want the one of before and the one of now", len(manifests), err)
	}
	if _, err := os.Stat(lost); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is in the old data directory again: %v", err)
	}
}

// refusesDamaged wants that what is not whole, and what another passphrase opens, leaves the data directory empty.
func (i *installation) refusesDamaged(t *testing.T, file, phrase string) {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad, other := filepath.Join(i.base, "bad"), filepath.Join(i.base, "other")
	if err := errors.Join(os.WriteFile(bad, whole[:len(whole)-1], 0o600), os.WriteFile(other, []byte("five other words, no secret\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{"damaged or cut off": {bad, "--passphrase-file", phrase}, "another passphrase": {file, "--passphrase-file", other}, "it is encrypted": {file}} {
		if r := i.kqueen(append([]string{"installation", "restore"}, args...)...); r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("restore %v: exit code %d: %s", args, r.code, r.stderr)
		}
		if left := files(t, i.dir); len(left) > 0 {
			t.Errorf("restore %v has left %v", args, left)
		}
	}
	if bytes.Contains(whole, []byte("kube-system")) || bytes.Contains(whole, []byte("PRIVATE KEY")) {
		t.Error("the backup can be read")
	}
}

// identities name what must be the same after a restore.
func identities(w *workers) string {
	return w.kube("get", "namespace/kube-system", "deployment/web", "-o", "jsonpath={.items[*].metadata.uid}") + "\n" +
		w.kube("get", "nodes", "-o", "jsonpath={.items[*].metadata.name} {.items[*].metadata.uid}") + "\n" +
		w.kube("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name} {.items[*].metadata.uid}")
}

// relists wants that who watches from a version which the restored cluster never had is told so.
func relists(t *testing.T, c *kubernetes.Clientset, version string) {
	t.Helper()
	w, err := c.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	if err == nil {
		defer w.Stop()
		event, ok := <-w.ResultChan()
		if !ok || event.Type != apiwatch.Error {
			t.Fatalf("a watch from before says %+v (%t)", event, ok)
		}
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from before says %v; want that its version is gone", err)
	}
}

// writing writes ConfigMaps, one after the other, until it ends.
type writing struct {
	t            *testing.T
	acknowledged chan string
	stop         context.CancelFunc
	last         chan string
}

func keepWriting(t *testing.T, c *kubernetes.Clientset) *writing {
	ctx, stop := context.WithCancel(t.Context())
	w := &writing{t: t, acknowledged: make(chan string, 1<<20), stop: stop, last: make(chan string, 1)}
	go func() {
		version := ""
		for n := 0; ctx.Err() == nil; n++ {
			made, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("write-%06d", n)}}, metav1.CreateOptions{})
			if err == nil {
				version = made.ResourceVersion
				w.acknowledged <- made.Name
			} else if ctx.Err() == nil {
				t.Errorf("write while the installation is backed up: %v", err)
				break
			}
		}
		w.last <- version
	}()
	return w
}

// atLeast waits for so many writes, and returns their names.
func (w *writing) atLeast(n int) (names []string) {
	for range n {
		select {
		case name := <-w.acknowledged:
			names = append(names, name)
		case <-time.After(patience):
			w.t.Fatal("nothing is written")
		}
	}
	return names
}

// end ends the writes and returns the version of the last one.
func (w *writing) end() string {
	w.stop()
	return <-w.last
}
