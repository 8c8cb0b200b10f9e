//go:build linux

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/cis"
)

// meetsCIS holds what runs for a cluster, and the files that it reads, against the CIS Kubernetes Benchmark.
func meetsCIS(t *testing.T, i *installation, name string) {
	plane := &v1alpha1.ControlPlane{}
	if err := i.admin().Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.NamespacePrefix + "default", Name: name}, plane); err != nil {
		t.Fatal(err)
	}
	found := cis.Found{Programs: map[string]cis.Program{}, Files: map[string]cis.File{}}
	for _, p := range i.processes() {
		if p.workload != string(plane.UID) && p.workload != "etcd" { // which is that of tenants
			continue
		}
		info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(p.pid)))
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		found.Programs[p.component] = cis.Program{Args: p.args, User: stat.Uid, Group: stat.Gid}
		for _, arg := range p.args {
			_, path, _ := strings.Cut(arg, "=")
			switch {
			case strings.HasPrefix(arg, "--tls-cert-file="), strings.HasPrefix(arg, "--cert-file="):
				lookAt(t, found, "", filepath.Dir(path), true)
			case strings.HasPrefix(arg, "--data-dir="):
				lookAt(t, found, "", path, false)
			}
		}
	}
	for _, r := range cis.Check(found) {
		if r.Problem != nil {
			t.Errorf("%s (%s): %v", r.Number, r.Title, r.Problem)
		}
	}
}

// nodesMeetCIS holds what runs on every machine of this host, and the files that it reads there, against the benchmark.
func nodesMeetCIS(t *testing.T, i *installation) {
	nodes := map[string]cis.Found{}
	for _, p := range i.processes() {
		if p.component != "kubelet" && p.component != "kube-proxy" {
			continue
		}
		if nodes[p.workload].Files == nil {
			nodes[p.workload] = cis.Found{Programs: map[string]cis.Program{}, Files: map[string]cis.File{}}
		}
		found, inside := nodes[p.workload], filepath.Join("/proc", strconv.Itoa(p.pid))
		info, err := os.Stat(inside)
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		found.Programs[p.component] = cis.Program{Args: p.args, User: stat.Uid, Group: stat.Gid}
		for _, arg := range p.args {
			switch name, path, _ := strings.Cut(arg, "="); name {
			case "--config":
				lookAt(t, found, inside+"/root", filepath.Dir(path), true)
			case "--kubeconfig":
				lookAt(t, found, inside+"/root", path, false)
			}
		}
	}
	if len(nodes) == 0 {
		t.Error("no kubelet runs")
	}
	for node, found := range nodes {
		for _, r := range cis.CheckNode(found) {
			if r.Problem != nil {
				t.Errorf("node %s: %s (%s): %v", node, r.Number, r.Title, r.Problem)
			}
		}
	}
}

// lookAt adds a folder below a root to what was found, with all that is in it or alone.
func lookAt(t *testing.T, found cis.Found, root, folder string, deep bool) {
	t.Helper()
	err := filepath.WalkDir(root+folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		file := cis.File{Mode: info.Mode(), Owner: stat.Uid, Group: stat.Gid}
		if info.Mode().IsRegular() {
			if file.Data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		found.Files[strings.TrimPrefix(path, root)] = file
		if path == root+folder && !deep {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// boundsEvents reports events as fast as it can, until some are refused.
func boundsEvents(t *testing.T, tenant *kubernetes.Clientset) {
	var taken, refused atomic.Int32
	var reporters sync.WaitGroup
	for range 10 {
		reporters.Go(func() {
			for range 100 {
				_, err := tenant.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "flood-"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "failing"},
				}, metav1.CreateOptions{})
				switch {
				case err == nil:
					taken.Add(1)
				case apierrors.IsTooManyRequests(err):
					refused.Add(1)
				default:
					t.Errorf("an event is refused for another reason: %v", err)
				}
				if refused.Load() >= 20 {
					return
				}
			}
		})
	}
	reporters.Wait()
	if taken.Load() < 100 || refused.Load() == 0 {
		t.Errorf("of a flood of events, %d are taken and %d refused", taken.Load(), refused.Load())
	}
}
