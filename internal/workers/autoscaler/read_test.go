package autoscaler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

func reader(t *testing.T, config *rest.Config, bounds listing.Bounds) *listing.Client {
	t.Helper()
	c, err := listing.New(config, bounds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestRead asks a real API server.
func TestRead(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := controlplanetest.Namespace(t, c)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Annotations: map[string]string{annotationSafe: "true", "other": "x"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.org/none:v1", Resources: corev1.ResourceRequirements{Requests: allocatable("1", "1Gi")}}}
	delete(pod.Spec.Containers[0].Resources.Requests, corev1.ResourcePods)
	pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	withClaim(pod)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data"}}
	claim.Spec.AccessModes, claim.Spec.StorageClassName = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, ptr.To("local")
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *ptr.To(allocatable("1", "1Gi")[corev1.ResourceMemory])}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	for _, o := range []client.Object{account, claim, pod} {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	seen, err := Read(t.Context(), reader(t, controlplanetest.Config(t), Bounds()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range seen.Pods {
		if p.Namespace != namespace {
			continue
		}
		if l := loadOf(p, nil); l.requests[corev1.ResourceCPU] != 1000 || len(p.Annotations) != 1 || !waits(p) || seen.Claims[namespace+"/data"] != (Claim{Class: "local"}) {
			t.Errorf("requests %v, annotations %v, claims %v", l.requests, p.Annotations, seen.Claims)
		}
		return
	}
	t.Errorf("the pod is not among %d", len(seen.Pods))
}

// TestReadOfHostileCluster: it ends in time, with an error, and nothing of it is taken for the whole.
func TestReadOfHostileCluster(t *testing.T) {
	huge := `{"metadata":{"name":"x","annotations":{"a":"` + strings.Repeat("x", 1<<20) + `"}}}`
	for name, c := range map[string]struct {
		reason string
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"Hangs": {"It does not answer.", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "list /api/v1/nodes: "},
		"Endless": {"A list has no end.", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"metadata":{"continue":"more"},"items":[`+strings.TrimSuffix(strings.Repeat(huge+",", 8), ",")+`]}`)
		}, errTooLarge.Error()},
		"Forbidden": {"It may not be asked.", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "403"},
		"Cut":       {"The answer ends too early.", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[{"metadata":{"name":"x"}}`) }, "list /api/v1/nodes"},
		"Wrong":     {"An object is none.", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[{"spec":7}]}`) }, "read object"},
	} {
		t.Run(name, func(t *testing.T) {
			bounds := Bounds()
			if name == "Hangs" {
				bounds.Call = time.Second
			}
			s := httptest.NewServer(http.HandlerFunc(c.answer))
			t.Cleanup(s.Close)
			seen, err := read(t.Context(), reader(t, &rest.Config{Host: s.URL}, bounds), 16<<20)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(seen.Nodes) > 0 {
				t.Errorf("%s got %v with %d nodes, want %q", c.reason, err, len(seen.Nodes), c.want)
			}
		})
	}
}

// TestHostilePods: what they say of themselves makes a pool no larger than it may be, and a decision takes no longer than one does.
func TestHostilePods(t *testing.T) {
	s := &scene{}
	s.pool("a", 3, 5, 3)
	for i := range 3000 {
		s.pod(fmt.Sprintf("p%d", i), "-5", "", apartBy(corev1.LabelHostname), spreadBy("zone"), withClaim)
	}
	s.pod("large", "9999999999999999999999999", "")
	s.pod("unruly", "1", "", func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{"\x1b[31m": strings.Repeat("x", 1<<16)}
		p.Name = "evil\n\x1b[31m" + strings.Repeat("x", 1000)
	})
	d := s.plan().Pools["a"]
	if d.Replicas > 5 || d.Replicas < 0 || len(d.Pending) > mostPods {
		t.Errorf("%d machines, %d pods", d.Replicas, len(d.Pending))
	}
	for _, c := range append(d.Pending, d.Nodes...) {
		if strings.ContainsAny(c.Name+c.Message, "\n\x1b") || len(c.Name) > longestName || len(c.Message) > longestCause {
			t.Errorf("it says %q", c)
		}
	}
}
