package collector_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/clusters/collector"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// proxy passes connections on, and can be cut.
type proxy struct {
	net.Listener

	to string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: listener, to: to, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { p.Close(); p.set(true) })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(in)
		}
	}()
	return p
}

func (p *proxy) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.to)
	if err != nil || !p.keep(in, out) {
		return
	}
	defer out.Close()
	go func() {
		io.Copy(out, in)
		out.Close()
	}()
	io.Copy(in, out)
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.cut {
			c.Close()
			continue
		}
		p.conns[c] = true
	}
	return !p.cut
}

// set ends all connections and takes no more, or takes them again.
func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
}

// through returns a configuration that goes through the proxy. The API server is still asked for by its own name.
func (p *proxy) through(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.Addr().String())
	}
	return out
}

func owned(kind, name string, by client.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: by.GetUID(), Controller: ptr.To(true)}}
}

// world is what a test has in a real cluster.
type world struct {
	client.Client

	t  *testing.T
	ns string
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}}}
	for _, f := range change {
		f(pod)
	}
	w.create(pod)
	return pod
}

// images are what containers of the test's namespace run, by pod, container and workload.
func (w *world) images(store *recorder) map[string]string {
	out := map[string]string{}
	for _, item := range store.of("real", inventory.KindContainer) {
		if c := item.Container; item.Key.Namespace == w.ns {
			out[item.Key.Name+"/"+item.Key.Part] = strings.Join([]string{c.Image.Reference, c.Image.Digest, c.WorkloadKind, c.WorkloadName, c.Phase}, " ")
		}
	}
	return out
}

func (w *world) see(store *recorder, want map[string]string) {
	w.t.Helper()
	store.until(w.t, func() string { return cmp.Diff(want, w.images(store)) })
}

// TestReal: what is created, changed and deleted in a real cluster arrives, also what happens while it cannot be reached.
func TestReal(t *testing.T) {
	config := controlplanetest.Config(t)
	w := &world{Client: controlplanetest.Client(t), t: t}
	w.ns = controlplanetest.Namespace(t, w)
	host, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	between := newProxy(t, strings.TrimPrefix(host.Host, "//"))
	c := collect(t, quick(), func(string) *rest.Config { return between.through(config) }, func(to *collector.Config) { to.Secrets = true })
	if err := w.List(t.Context(), &corev1.ComponentStatusList{}); err != nil { // which is deprecated
		t.Fatal(err)
	}
	set := w.deployment()
	first := w.pod("web-5d4-a", func(p *corev1.Pod) {
		p.OwnerReferences = owned("ReplicaSet", set.Name, set)
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "busybox"}}
	})
	c.put("real", "real")
	const pending = "Deployment web Pending"
	want := map[string]string{"web-5d4-a/c": "docker.io/library/nginx:1.27  " + pending, "web-5d4-a/i": "docker.io/library/busybox:latest  " + pending}
	w.see(c.store, want)

	digest := "sha256:" + strings.Repeat("a", 64)
	first.Status.Phase = corev1.PodRunning
	first.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Image: "x", ImageID: "docker.io/library/nginx@" + digest}}
	if err := w.Status().Update(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := w.pod("alone")
	want = map[string]string{
		"web-5d4-a/c": "docker.io/library/nginx:1.27 " + digest + " Deployment web Running", "web-5d4-a/i": "docker.io/library/busybox:latest  Deployment web Running",
		"alone/c": "docker.io/library/nginx:1.27  Pod alone Pending",
	}
	w.see(c.store, want)
	w.others(c.store)
	c.store.until(t, func() string { return cmp.Diff("", c.store.message("real")) })
	c.store.until(t, func() string {
		for _, item := range c.store.of("real", inventory.KindAPI) {
			if item.Key.Name == "core/v1/componentstatuses" {
				return ""
			}
		}
		return "the use of a deprecated API is not known"
	})

	between.set(true)
	c.store.until(t, func() string { return cmp.Diff(true, !c.store.isLive("real")) })
	now := client.GracePeriodSeconds(0)
	if err := w.Delete(t.Context(), second, now); err != nil {
		t.Fatal(err)
	}
	w.pod("new")
	between.set(false)
	delete(want, "alone/c")
	want["new/c"] = "docker.io/library/nginx:1.27  Pod new Pending"
	w.see(c.store, want)
	c.store.until(t, func() string { return missing(c.store, "real") })
	if err := w.Delete(t.Context(), first, now); err != nil {
		t.Fatal(err)
	}
	w.see(c.store, map[string]string{"new/c": want["new/c"]})
}

// deployment creates a Deployment and its ReplicaSet, as its controller would.
func (w *world) deployment() *appsv1.ReplicaSet {
	w.t.Helper()
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	w.create(deployment)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web-5d4", OwnerReferences: owned("Deployment", "web", deployment)},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	w.create(set)
	return set
}

// others creates objects of the other kinds and looks for them.
func (w *world) others(store *recorder) {
	w.t.Helper()
	w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-" + w.ns}})
	w.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "s"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	w.create(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: w.ns + ".csi.example.com"}})
	w.create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "v"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}})
	for _, name := range []string{"e1", "e2"} {
		w.create(&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}, Type: corev1.EventTypeWarning, Reason: "Failed", LastTimestamp: metav1.Now(),
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.ns, Name: "alone", UID: "1"},
		})
	}
	want := []string{"Component/" + w.ns + ".csi.example.com", "Component/kube-apiserver", "Namespace", "Node", "Service", "Volume", "Warning", "Workload/Deployment"}
	store.until(w.t, func() string {
		found := map[string]bool{}
		for key := range store.all("real") {
			switch key.Kind {
			case inventory.KindComponent:
				found["Component/"+key.Part] = true
			case inventory.KindWorkload:
				found["Workload/"+key.Part] = key.Namespace == w.ns
			default:
				found[string(key.Kind)] = true
			}
		}
		var missed []string
		for _, name := range want {
			if !found[name] {
				missed = append(missed, name)
			}
		}
		return strings.Join(missed, ", ")
	})
	store.until(w.t, func() string { // it is looked at between lists
		if got := store.of("real", inventory.KindCertificate); len(got) != 2 || got[0].Certificate.NotAfter.IsZero() || got[0].Key.Part == got[1].Key.Part {
			return fmt.Sprintf("certificates are %v, want that of the API server and that of its authority", got)
		}
		return ""
	})
}

// TestRealForbidden: a credential that may read pods alone has pods observed, and it is said what is not.
func TestRealForbidden(t *testing.T) {
	w := &world{Client: controlplanetest.Client(t), t: t}
	w.ns = controlplanetest.Namespace(t, w)
	config := controlplanetest.User(t, "pods-"+w.ns)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.ns}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}}}
	w.create(role)
	w.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.ns},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "pods-" + w.ns}},
	})
	w.pod("a")
	c := collect(t, quick(), func(string) *rest.Config { return config })
	c.put("real", "real")
	w.see(c.store, map[string]string{"a/c": "docker.io/library/nginx:1.27  Pod a Pending"})
	c.store.until(t, func() string { return missing(c.store, "real") })
	const want = "not observed: cronjobs, csidrivers, daemonsets, deployments, events, ingresses, jobs, metrics, namespaces, nodes, persistentvolumeclaims, " +
		"persistentvolumes, replicasets, services, statefulsets: may not be read with KQueen's credential (403)"
	c.store.until(t, func() string { return cmp.Diff(want, c.store.message("real")) })
	role.Rules[0].Resources = []string{"pods", "nodes"}
	if err := w.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	c.store.until(t, func() string { return cmp.Diff(strings.Replace(want, "nodes, ", "", 1), c.store.message("real")) })
}
