package collector

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ledgerOf is a ledger of some of the resources, by name.
func ledgerOf(names ...string) (*ledger, map[string]*resourceKind) {
	var kinds []*resourceKind
	by := map[string]*resourceKind{}
	for _, r := range resourceKinds(true) {
		if slices.Contains(names, r.name) {
			kinds = append(kinds, r)
			by[r.name] = r
		}
	}
	return newLedger(kinds, 1<<30), by
}

// listed has a resource listed with objects in JSON, and returns which have to be listed again.
func listed(t *testing.T, l *ledger, r *resourceKind, objects ...string) []string {
	t.Helper()
	in := l.begin(r)
	for _, o := range objects {
		if err := l.take(r, []byte(o), in); err != nil {
			t.Fatal(err)
		}
	}
	again, err := l.finish(r, in)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func took(t *testing.T, l *ledger, r *resourceKind, o string) {
	t.Helper()
	if err := l.take(r, []byte(o), nil); err != nil {
		t.Fatal(err)
	}
}

func gone(t *testing.T, l *ledger, r *resourceKind, o string) {
	t.Helper()
	if err := l.remove(r, []byte(o)); err != nil {
		t.Fatal(err)
	}
}

// brief is a batch in words: "!Kind" for a whole one, "+" and "-" before names.
func brief(b *batch) string {
	var out []string
	for _, kind := range b.Whole {
		out = append(out, "!"+string(kind))
	}
	for _, item := range b.Set {
		out = append(out, "+"+item.Key.Name)
	}
	for _, key := range b.Gone {
		out = append(out, "-"+key.Name)
	}
	return strings.Join(out, " ")
}

func expect(t *testing.T, l *ledger, want string) *batch {
	t.Helper()
	b := l.gather()
	if diff := cmp.Diff(want, brief(b)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	return b
}

func named(name string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q}}`, name, name)
}

func TestLedgerOfOneResource(t *testing.T) {
	l, by := ledgerOf("namespaces")
	r := by["namespaces"]
	expect(t, l, "")
	in := l.begin(r)
	if err := l.take(r, []byte(named("a")), in); err != nil {
		t.Fatal(err)
	}
	expect(t, l, "") // the list has not ended
	if _, err := l.finish(r, in); err != nil {
		t.Fatal(err)
	}
	expect(t, l, "!Namespace +a")
	expect(t, l, "")
	took(t, l, r, named("a"))
	expect(t, l, "") // the same
	took(t, l, r, `{"metadata":{"name":"a","uid":"a","labels":{"b":"c"},"resourceVersion":"2"}}`)
	took(t, l, r, named("b"))
	expect(t, l, "+a +b")
	gone(t, l, r, named("b"))
	gone(t, l, r, named("never"))
	expect(t, l, "-b")
	took(t, l, r, named("c"))
	gone(t, l, r, named("c"))
	expect(t, l, "-c")
	listed(t, l, r, named("d"), `{"metadata":{"name":"a","uid":"a","labels":{"b":"c"}}}`)
	expect(t, l, "!Namespace +a +d") // whole again, with what is the same
	l.begin(r)
	l.fail(r)
	took(t, l, r, named("e"))
	expect(t, l, "+e")
	listed(t, l, r)
	expect(t, l, "!Namespace")
}

func TestLedgerRestores(t *testing.T) {
	l, by := ledgerOf("namespaces")
	r := by["namespaces"]
	listed(t, l, r, named("a"), named("b"))
	b := expect(t, l, "!Namespace +a +b")
	gone(t, l, r, named("a"))
	l.restore(b)
	expect(t, l, "!Namespace +b")
	took(t, l, r, named("c"))
	gone(t, l, r, named("b"))
	b = expect(t, l, "+c -b")
	took(t, l, r, named("b"))
	gone(t, l, r, named("c"))
	l.restore(b)
	expect(t, l, "+b -c") // what was observed since counts
}

func TestLedgerOfSeveralResources(t *testing.T) {
	l, by := ledgerOf("persistentvolumes", "persistentvolumeclaims")
	volumes, claims := by["persistentvolumes"], by["persistentvolumeclaims"]
	listed(t, l, volumes, named("v"))
	expect(t, l, "") // claims are not listed
	listed(t, l, claims, named("c"))
	expect(t, l, "!Volume +c +v")
	listed(t, l, claims) // is not all of the kind
	expect(t, l, "-c")

	l, _ = ledgerOf("persistentvolumes", "persistentvolumeclaims")
	listed(t, l, volumes, named("v"))
	l.begin(claims)
	l.fail(claims)
	expect(t, l, "+v") // never whole without the claims
	took(t, l, volumes, named("w"))
	expect(t, l, "+w")
	again := listed(t, l, claims, named("c"))
	if diff := cmp.Diff([]string{"persistentvolumeclaims", "persistentvolumes"}, again); diff != "" {
		t.Errorf("to be listed again, -want +got:\n%s", diff)
	}
	expect(t, l, "")
	listed(t, l, volumes, named("v"), named("w"))
	listed(t, l, claims, named("c"))
	expect(t, l, "!Volume +c +v +w")
}

func TestLedgerOfWarnings(t *testing.T) {
	l, by := ledgerOf("events")
	r := by["events"]
	warning := func(uid, hour string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q},"type":"Warning","reason":"R","involvedObject":{"name":"p"},"lastTimestamp":"2026-01-01T%s:30:00Z"}`, uid, uid, hour)
	}
	listed(t, l, r, warning("1", "02"), warning("2", "03"))
	b := expect(t, l, "!Warning +p")
	if got := b.Set[0].Warning.LastSeen.Hour(); got != 3 {
		t.Errorf("last seen at %d, want 3", got)
	}
	took(t, l, r, warning("1", "01"))
	expect(t, l, "") // an older one of the same
	gone(t, l, r, warning("2", "03"))
	expect(t, l, "")
	gone(t, l, r, warning("1", "01"))
	expect(t, l, "-p")
	took(t, l, r, warning("3", "00"))
	listed(t, l, r, warning("4", "00"))
	expect(t, l, "!Warning +p")
}

// TestLedgerJoins: which kube-proxy runs on a node, and which controller owns a pod, is known in whatever order objects come.
func TestLedgerJoins(t *testing.T) {
	l, by := ledgerOf("pods", "nodes", "replicasets", "jobs")
	proxy := func(uid, tag string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"kube-system","name":%q,"uid":%q},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"registry.k8s.io/kube-proxy:%s"}]}}`, uid, uid, tag)
	}
	version := func() (version string) {
		for _, item := range l.gather().Set {
			if item.Node != nil {
				version = "kube-proxy " + item.Node.KubeProxyVersion
			}
		}
		return version
	}
	check := func(want string) {
		t.Helper()
		if got := version(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	listed(t, l, by["replicasets"])
	listed(t, l, by["jobs"], `{"metadata":{"name":"j-1","uid":"j","ownerReferences":[{"kind":"CronJob","name":"cron","controller":true}]}}`)
	listed(t, l, by["pods"], proxy("a", "v1.35.1"))
	listed(t, l, by["nodes"], named("n1"))
	check("kube-proxy v1.35.1")
	took(t, l, by["pods"], proxy("b", "v1.36.0"))
	check("kube-proxy v1.36.0")
	gone(t, l, by["pods"], proxy("a", "v1.35.1"))
	check("")
	gone(t, l, by["pods"], proxy("b", "v1.36.0"))
	check("kube-proxy ")
	gone(t, l, by["nodes"], named("n1"))
	took(t, l, by["pods"], proxy("c", "v1.36.0"))
	check("")
	took(t, l, by["nodes"], named("n1"))
	check("kube-proxy v1.36.0")
	took(t, l, by["pods"], `{"metadata":{"name":"j-1-x","uid":"x","ownerReferences":[{"kind":"Job","name":"j-1","uid":"j","controller":true}]},"spec":{"containers":[{"name":"c","image":"a"}]}}`)
	if got := l.gather().Set[0].Container; got.WorkloadKind != "CronJob" || got.WorkloadName != "cron" {
		t.Errorf("the pod belongs to %s %s", got.WorkloadKind, got.WorkloadName)
	}
}

// BenchmarkPod measures what a watched pod costs: bytes that are kept of it, and the time to take it from its JSON.
func BenchmarkPod(b *testing.B) {
	const many = 5_000
	pods := make([][]byte, many)
	for i := range pods {
		env := []map[string]string{}
		for j := range 20 {
			env = append(env, map[string]string{"name": fmt.Sprint("SETTING_", j), "value": strings.Repeat("v", 40)})
		}
		uid := fmt.Sprintf("0d9b1f7e-6f7a-4a4f-9d0a-%012d", i)
		var err error
		pods[i], err = json.Marshal(map[string]any{
			"metadata": map[string]any{
				"namespace": fmt.Sprint("team-", i%50), "name": fmt.Sprintf("web-%d-5d4f8c7b9-%05d", i/10, i), "uid": uid, "labels": map[string]string{"pod-template-hash": "5d4f8c7b9", "app": "web"},
				"ownerReferences": []map[string]any{{"kind": "ReplicaSet", "name": fmt.Sprintf("web-%d-5d4f8c7b9", i/10), "uid": fmt.Sprint("rs-", i/10), "controller": true}},
			},
			"spec": map[string]any{"nodeName": fmt.Sprint("node-", i%100), "containers": []map[string]any{
				{"name": "web", "image": "registry.example.com/team/web:1.2.3", "env": env}, {"name": "proxy", "image": "docker.io/envoyproxy/envoy:v1.30.1", "env": env},
			}},
			"status": map[string]any{"phase": "Running", "containerStatuses": []map[string]any{
				{"name": "web", "imageID": "registry.example.com/team/web@" + digestA}, {"name": "proxy", "imageID": "docker.io/envoyproxy/envoy@" + digestB},
			}},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		l, by := ledgerOf("pods", "nodes")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		in := l.begin(by["pods"])
		for _, pod := range pods {
			if err := l.take(by["pods"], pod, in); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := l.finish(by["pods"], in); err != nil {
			b.Fatal(err)
		}
		if got := len(l.gather().Set); got != 2*many {
			b.Fatalf("there are %d items", got)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/many, "kept-bytes/pod")
		b.ReportMetric(float64(len(pods[0])), "json-bytes/pod")
		runtime.KeepAlive(l)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/many, "µs/pod")
}
