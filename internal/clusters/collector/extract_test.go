package collector

import (
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

var (
	digestA = "sha256:" + strings.Repeat("a", 64)
	digestB = "sha256:" + strings.Repeat("b", 64)
)

func TestImage(t *testing.T) {
	cases := map[string]struct {
		reference, imageID string
		want               inventory.Image
	}{
		"Short":        {"nginx", "", inventory.Image{Reference: "docker.io/library/nginx:latest", Repository: "docker.io/library/nginx", Tag: "latest"}},
		"Tag":          {"nginx:1.27", "", inventory.Image{Reference: "docker.io/library/nginx:1.27", Repository: "docker.io/library/nginx", Tag: "1.27"}},
		"User":         {"bitnami/redis:7", "", inventory.Image{Reference: "docker.io/bitnami/redis:7", Repository: "docker.io/bitnami/redis", Tag: "7"}},
		"Index":        {"index.docker.io/nginx:1", "", inventory.Image{Reference: "docker.io/library/nginx:1", Repository: "docker.io/library/nginx", Tag: "1"}},
		"Port":         {"localhost:5000/a/b", "", inventory.Image{Reference: "localhost:5000/a/b:latest", Repository: "localhost:5000/a/b", Tag: "latest"}},
		"Localhost":    {"localhost/a:1", "", inventory.Image{Reference: "localhost/a:1", Repository: "localhost/a", Tag: "1"}},
		"Registry":     {"registry.k8s.io/pause:3.10", "", inventory.Image{Reference: "registry.k8s.io/pause:3.10", Repository: "registry.k8s.io/pause", Tag: "3.10"}},
		"Pinned":       {"quay.io/a/b@" + digestA, "", inventory.Image{Reference: "quay.io/a/b@" + digestA, Repository: "quay.io/a/b"}},
		"TagAndPinned": {"quay.io/a/b:1@" + digestA, "", inventory.Image{Reference: "quay.io/a/b:1@" + digestA, Repository: "quay.io/a/b", Tag: "1"}},
		"Containerd":   {"nginx", "docker.io/library/nginx@" + digestB, inventory.Image{Reference: "docker.io/library/nginx:latest", Repository: "docker.io/library/nginx", Tag: "latest", Digest: digestB}},
		"Docker":       {"nginx:1", "docker-pullable://nginx@" + digestB, inventory.Image{Reference: "docker.io/library/nginx:1", Repository: "docker.io/library/nginx", Tag: "1", Digest: digestB}},
		"BareID":       {"nginx:1", digestB, inventory.Image{Reference: "docker.io/library/nginx:1", Repository: "docker.io/library/nginx", Tag: "1"}},
		"DockerID":     {"nginx:1", "docker://" + digestB, inventory.Image{Reference: "docker.io/library/nginx:1", Repository: "docker.io/library/nginx", Tag: "1"}},
		"PinnedBareID": {"quay.io/a/b@" + digestA, digestB, inventory.Image{Reference: "quay.io/a/b@" + digestA, Repository: "quay.io/a/b", Digest: digestA}},
		"Cut":          {"a@sha256:12", "a@sha256:12", inventory.Image{Reference: "docker.io/library/a:latest", Repository: "docker.io/library/a", Tag: "latest"}},
		"Empty":        {"", "", inventory.Image{}},
		"Blanks":       {" nginx\n", "", inventory.Image{Reference: "docker.io/library/nginx:latest", Repository: "docker.io/library/nginx", Tag: "latest"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, image(c.reference, c.imageID)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestVersionOf(t *testing.T) {
	for tag, want := range map[string]string{
		"v1.36.3": "v1.36.3", "3.5.12-0": "v3.5.12-0", "latest": "", "": "", "v": "", "1": "", "v1.11.1-eksbuild.1": "v1.11.1-eksbuild.1", "stable-1.2": "",
	} {
		if got := versionOf(tag); got != want {
			t.Errorf("version of %q: got %q, want %q", tag, got, want)
		}
	}
}

// read decodes an object as a watch brings it.
func read[T any](t *testing.T, from string) *T {
	t.Helper()
	var o T
	if err := json.Unmarshal([]byte(from), &o); err != nil {
		t.Fatal(err)
	}
	return &o
}

func TestPodItems(t *testing.T) {
	key := func(part string) inventory.Key {
		return inventory.Key{Kind: inventory.KindContainer, Namespace: "n", Name: "p", Part: part, UID: "u"}
	}
	img := func(name string) inventory.Image {
		return inventory.Image{Reference: "docker.io/library/" + name + ":latest", Repository: "docker.io/library/" + name, Tag: "latest"}
	}
	p := read[pod](t, `{"metadata":{"namespace":"n","name":"p","uid":"u","labels":{"pod-template-hash":"5d4"},"managedFields":[{}],
		"ownerReferences":[{"kind":"Other","name":"x","uid":"y"},{"kind":"ReplicaSet","name":"web-5d4","uid":"rs","controller":true}]},
		"spec":{"nodeName":"n1","volumes":[{}],
			"initContainers":[{"name":"i","image":"init"},{"name":"s","image":"side","restartPolicy":"Always"}],
			"containers":[{"name":"a","image":"app","env":[{"name":"PASSWORD","value":"x"}]},{"name":"b","image":"bad"},{"name":"d","image":"done"}],
			"ephemeralContainers":[{"name":"e","image":"debug"}]},
		"status":{"phase":"Running",
			"containerStatuses":[
				{"name":"a","imageID":"docker.io/library/app@`+digestA+`","state":{"running":{}}},
				{"name":"b","imageID":"`+digestB+`","state":{"waiting":{"reason":"CrashLoopBackOff"}}},
				{"name":"d","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}],
			"initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}}`)
	container := func(part, image string, typ inventory.ContainerType, change ...func(*inventory.Container)) inventory.Item {
		c := &inventory.Container{Type: typ, Image: img(image), WorkloadKind: "Deployment", WorkloadName: "web", Node: "n1", Phase: "Running"}
		for _, f := range change {
			f(c)
		}
		return inventory.Item{Key: key(part), Container: c}
	}
	want := []inventory.Item{
		container("i", "init", inventory.TypeInit),
		container("s", "side", inventory.TypeSidecar),
		container("a", "app", inventory.TypeApp, func(c *inventory.Container) { c.Image.Digest = digestA }),
		container("b", "bad", inventory.TypeApp, func(c *inventory.Container) { c.Reason = "CrashLoopBackOff" }),
		container("d", "done", inventory.TypeApp, func(c *inventory.Container) { c.Reason = "OOMKilled" }),
		container("e", "debug", inventory.TypeEphemeral),
	}
	if diff := cmp.Diff(want, podItems(p, unknownOwners)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func unknownOwners(string) (owner, bool) { return owner{}, false }

func TestWorkloadOf(t *testing.T) {
	owners := func(uid string) (owner, bool) {
		found, ok := map[string]owner{"rollout": {Kind: "Rollout", Name: "web"}, "bare": {}, "cron": {Kind: "CronJob", Name: "nightly"}}[uid]
		return found, ok
	}
	cases := map[string]struct{ owner, labels, kind, name string }{
		"None":             {``, ``, "Pod", "p"},
		"StatefulSet":      {`{"kind":"StatefulSet","name":"db","controller":true}`, ``, "StatefulSet", "db"},
		"Static":           {`{"kind":"Node","name":"n1","controller":true}`, ``, "Node", "n1"},
		"ByHash":           {`{"kind":"ReplicaSet","name":"a-b-5d4","uid":"?","controller":true}`, `"pod-template-hash":"5d4"`, "Deployment", "a-b"},
		"OtherHash":        {`{"kind":"ReplicaSet","name":"a-b-5d4","uid":"?","controller":true}`, `"pod-template-hash":"777"`, "ReplicaSet", "a-b-5d4"},
		"NoHash":           {`{"kind":"ReplicaSet","name":"a-","uid":"?","controller":true}`, ``, "ReplicaSet", "a-"},
		"KnownOwner":       {`{"kind":"ReplicaSet","name":"web-5d4","uid":"rollout","controller":true}`, `"pod-template-hash":"5d4"`, "Rollout", "web"},
		"KnownWithout":     {`{"kind":"ReplicaSet","name":"web-5d4","uid":"bare","controller":true}`, `"pod-template-hash":"5d4"`, "ReplicaSet", "web-5d4"},
		"CronJob":          {`{"kind":"Job","name":"nightly-1","uid":"cron","controller":true}`, ``, "CronJob", "nightly"},
		"JobNotKnown":      {`{"kind":"Job","name":"nightly-1","uid":"?","controller":true}`, ``, "Job", "nightly-1"},
		"NotItsController": {`{"kind":"Job","name":"nightly-1","uid":"cron"}`, ``, "Pod", "p"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			kind, workload := workloadOf(read[pod](t, `{"metadata":{"name":"p","labels":{`+c.labels+`},"ownerReferences":[`+c.owner+`]}}`), owners)
			if kind != c.kind || workload != c.name {
				t.Errorf("got %s %s, want %s %s", kind, workload, c.kind, c.name)
			}
		})
	}
}

func TestReasonOf(t *testing.T) {
	cases := map[string]struct{ pod, state, want string }{
		"Runs":          {`{"spec":{"nodeName":"n"}}`, `{"state":{"running":{}}}`, ""},
		"Completed":     {`{"spec":{"nodeName":"n"}}`, `{"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}`, ""},
		"NoReason":      {`{"spec":{"nodeName":"n"}}`, `{"state":{"terminated":{"exitCode":1}}}`, "Error"},
		"Waiting":       {`{"spec":{"nodeName":"n"}}`, `{"state":{"waiting":{}}}`, "Waiting"},
		"Evicted":       {`{"spec":{"nodeName":"n"},"status":{"reason":"Evicted"}}`, `{}`, "Evicted"},
		"Unschedulable": {`{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}`, `{}`, "Unschedulable"},
		"NotYet":        {`{}`, `{}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := reasonOf(read[pod](t, c.pod), read[containerState](t, c.state)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestNodeItems(t *testing.T) {
	n := read[node](t, `{"metadata":{"name":"n1","uid":"u","labels":{"a":"b"}},"spec":{"unschedulable":true},"status":{
		"capacity":{"cpu":"3920m","memory":"16Gi","pods":"110"},"allocatable":{"cpu":"2","memory":"1k","pods":"junk"},
		"nodeInfo":{"kubeletVersion":"v1.35.1","kubeProxyVersion":"v1.0.0","containerRuntimeVersion":"containerd://2.4.2","kernelVersion":"6.18","osImage":"Debian","architecture":"arm64"},
		"conditions":[{"type":"PIDPressure","status":"True"},{"type":"Ready","status":"Unknown","message":"Kubelet stopped posting node status.","lastHeartbeatTime":"2026-01-01T00:00:00Z"},
			{"type":"DiskPressure","status":"True"},{"type":"MemoryPressure","status":"False"}]}}`)
	component := func(part, version string) inventory.Item {
		return inventory.Item{Key: inventory.Key{Kind: inventory.KindComponent, Name: "n1", Part: part, UID: "u"}, Component: &inventory.Component{Version: version}}
	}
	want := []inventory.Item{{Key: inventory.Key{Kind: inventory.KindNode, Name: "n1", UID: "u"}, Node: &inventory.Node{
		KubeletVersion: "v1.35.1", KubeProxyVersion: "v1.34.2", Runtime: "containerd://2.4.2", Kernel: "6.18", OS: "Debian", Architecture: "arm64",
		Ready: "Unknown", Message: "Kubelet stopped posting node status.", Unschedulable: true, Pressure: []string{"DiskPressure", "PIDPressure"},
		Labels: map[string]string{"a": "b"}, Capacity: inventory.Resources{CPU: 3920, Memory: 16 << 30, Pods: 110}, Allocatable: inventory.Resources{CPU: 2000, Memory: 1000},
	}}, component("kubelet", "v1.35.1"), component("containerd", "v2.4.2")}
	if diff := cmp.Diff(want, nodeItems(n, "v1.34.2")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestComponentOf(t *testing.T) {
	cases := map[string]struct{ repository, namespace, want string }{
		"APIServer":     {"registry.k8s.io/kube-apiserver", "kube-system", "kube-apiserver"},
		"CoreDNS":       {"registry.k8s.io/coredns/coredns", "kube-system", "coredns"},
		"EtcdOfATeam":   {"quay.io/coreos/etcd", "team", ""},
		"Flannel":       {"ghcr.io/flannel-io/flannel", "kube-flannel", "flannel"},
		"Calico":        {"docker.io/calico/node", "calico-system", "calico"},
		"Cilium":        {"quay.io/cilium/cilium", "kube-system", "cilium"},
		"IngressNginx":  {"registry.k8s.io/ingress-nginx/controller", "ingress-nginx", "ingress-nginx"},
		"OtherCtrl":     {"registry.example.com/controller", "a", ""},
		"Traefik":       {"docker.io/library/traefik", "traefik", "traefik"},
		"MetricsServer": {"registry.k8s.io/metrics-server/metrics-server", "kube-system", "metrics-server"},
		"CSIDriver":     {"public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver", "kube-system", "aws-ebs-csi-driver"},
		"CSISidecar":    {"registry.k8s.io/sig-storage/csi-provisioner", "kube-system", "csi-provisioner"},
		"NotCSI":        {"docker.io/acme/csiro", "a", ""},
		"App":           {"docker.io/library/nginx", "kube-system", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := componentOf(c.repository, c.namespace); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPodComponents(t *testing.T) {
	items := func(phase, node string) []inventory.Item {
		return podItems(read[pod](t, `{"metadata":{"namespace":"kube-system","name":"etcd-n1","uid":"u","annotations":{"kubernetes.io/config.mirror":"x"}},
			"spec":{"nodeName":"`+node+`","initContainers":[{"name":"i","image":"registry.k8s.io/etcd:1.0.0"}],"containers":[{"name":"etcd","image":"registry.k8s.io/etcd:3.5.12-0"}]},"status":{"phase":"`+phase+`"}}`), unknownOwners)
	}
	got := items("Running", "n1")
	want := inventory.Item{Key: inventory.Key{Kind: inventory.KindComponent, Namespace: "kube-system", Name: "n1", Part: "etcd", UID: "u"}, Component: &inventory.Component{Version: "v3.5.12-0", Image: "registry.k8s.io/etcd:3.5.12-0"}}
	if diff := cmp.Diff(want, got[len(got)-1]); diff != "" || len(got) != 3 {
		t.Errorf("%d items, want 3; -want +got:\n%s", len(got), diff)
	}
	if !got[0].Container.Static {
		t.Error("a mirror pod is not static")
	}
	for phase, node := range map[string]string{"Pending": "", "Succeeded": "n1", "Failed": "n1"} {
		if got := items(phase, node); len(got) != 2 {
			t.Errorf("a pod that is %s has %d items, want 2: it runs no component", phase, len(got))
		}
	}
}

func TestClusterComponents(t *testing.T) {
	item := func(part string, c inventory.Component) inventory.Item {
		return inventory.Item{Key: inventory.Key{Kind: inventory.KindComponent, Part: part}, Component: &c}
	}
	managed := inventory.Component{Managed: true}
	hosted := []inventory.Item{item("kube-apiserver", inventory.Component{Version: "v1.36.3"}), item("etcd", inventory.Component{Version: "v3.7.3"})}
	cases := map[string]struct {
		hosted    []inventory.Item
		seen      string
		podsKnown bool
		want      []inventory.Item
	}{
		"Provider":    {nil, "", true, []inventory.Item{item("kube-apiserver", inventory.Component{Version: "v1.33.1"}), item("kube-controller-manager", managed), item("kube-scheduler", managed), item("etcd", managed)}},
		"Seen":        {nil, "kube-controller-manager kube-scheduler etcd", true, []inventory.Item{item("kube-apiserver", inventory.Component{Version: "v1.33.1"})}},
		"EtcdOutside": {nil, "kube-controller-manager kube-scheduler", true, []inventory.Item{item("kube-apiserver", inventory.Component{Version: "v1.33.1"}), item("etcd", managed)}},
		"NoPods":      {nil, "", false, []inventory.Item{item("kube-apiserver", inventory.Component{Version: "v1.33.1"})}},
		"Hosted":      {hosted, "", true, hosted},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			seen := func(part string) bool { return strings.Contains(c.seen, part) }
			if diff := cmp.Diff(c.want, clusterComponents("v1.33.1", c.hosted, seen, c.podsKnown)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWorkloadItems(t *testing.T) {
	const begin = `{"metadata":{"namespace":"n","name":"w","uid":"u","labels":{"l":"1"}%s},"spec":{"selector":{"matchLabels":{"s":"1"}}%s},"status":{%s}}`
	cases := map[string]struct {
		kind, meta, spec, status string
		desired, ready           int32
		none                     bool
	}{
		"Deployment":    {"Deployment", ``, `,"replicas":3`, `"readyReplicas":2`, 3, 2, false},
		"Zero":          {"StatefulSet", ``, `,"replicas":0`, ``, 0, 0, false},
		"Defaults":      {"StatefulSet", ``, ``, ``, 1, 0, false},
		"DaemonSet":     {"DaemonSet", ``, ``, `"desiredNumberScheduled":5,"numberReady":4`, 5, 4, false},
		"Job":           {"Job", ``, `,"completions":2`, `"succeeded":1`, 2, 1, false},
		"CronJob":       {"CronJob", ``, ``, ``, 0, 0, false},
		"JobOfACronJob": {"Job", `,"ownerReferences":[{"kind":"CronJob","name":"c","controller":true}]`, ``, ``, 0, 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := []inventory.Item{{Key: inventory.Key{Kind: inventory.KindWorkload, Namespace: "n", Name: "w", Part: c.kind, UID: "u"}, Workload: &inventory.Workload{
				Desired: c.desired, Ready: c.ready, Labels: map[string]string{"l": "1"}, Selector: map[string]string{"s": "1"},
			}}}
			if c.none {
				want = nil
			}
			got := workloadItems(c.kind, read[workload](t, fill(begin, c.meta, c.spec, c.status)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func fill(in string, parts ...string) string {
	for _, part := range parts {
		in = strings.Replace(in, "%s", part, 1)
	}
	return in
}

func TestOtherItems(t *testing.T) {
	const begin = `{"metadata":{"namespace":"n","name":"a","uid":"u","annotations":{"kubernetes.io/ingress.class":"old"}}`
	key := func(kind inventory.Kind) inventory.Key {
		return inventory.Key{Kind: kind, Namespace: "n", Name: "a", UID: "u"}
	}
	inVolume := inventory.Key{Kind: inventory.KindVolume, Name: "pv", UID: "u"}
	warning := inventory.Key{Kind: inventory.KindWarning, Namespace: "n", Name: "p", Part: "BackOff", UID: "pu"}
	cases := map[string]struct{ got, want []inventory.Item }{
		"Service": {
			serviceItems(read[service](t, begin+`,"spec":{"type":"LoadBalancer","selector":{"a":"b"},"ports":[{"protocol":"UDP","port":53},{"protocol":"TCP","port":80}]},"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.2"},{"hostname":"a.example.com"}]}}}`)),
			[]inventory.Item{{Key: key(inventory.KindService), Service: &inventory.Service{Type: "LoadBalancer", Selector: map[string]string{"a": "b"}, Ports: []string{"UDP/53", "TCP/80"}, Addresses: []string{"10.0.0.2", "a.example.com"}}}},
		},
		"Ingress": {
			ingressItems(read[ingress](t, begin+`,"spec":{"defaultBackend":{"service":{"name":"z"}},"tls":[{"secretName":"t"}],"rules":[{"host":"b","http":{"paths":[{"backend":{"service":{"name":"y"}}},{"backend":{"service":{"name":"y"}}}]}},{"host":"a"}]}}`)),
			[]inventory.Item{{Key: key(inventory.KindIngress), Ingress: &inventory.Ingress{Class: "old", Hosts: []string{"a", "b"}, Services: []string{"y", "z"}, Secrets: []string{"t"}}}},
		},
		"Claim": {
			volumeItems(read[volume](t, begin+`,"spec":{"storageClassName":"fast","volumeName":"pv"},"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}`)),
			[]inventory.Item{{Key: key(inventory.KindVolume), Volume: &inventory.Volume{StorageClass: "fast", Phase: "Bound", Bytes: 1 << 30, Bound: "pv"}}},
		},
		"Volume": {
			volumeItems(read[volume](t, `{"metadata":{"name":"pv","uid":"u"},"spec":{"storageClassName":"fast","capacity":{"storage":"2Gi"}},"status":{"phase":"Available"}}`)),
			[]inventory.Item{{Key: inVolume, Volume: &inventory.Volume{StorageClass: "fast", Phase: "Available", Bytes: 2 << 30}}},
		},
		"Warning": {
			warningItems(read[event](t, `{"metadata":{"name":"e","uid":"e"},"type":"Warning","reason":"BackOff","message":"no\nway","involvedObject":{"kind":"Pod","namespace":"n","name":"p","uid":"pu"},"lastTimestamp":null,"eventTime":"2026-03-01T10:59:59.123456Z"}`)),
			[]inventory.Item{{Key: warning, Warning: &inventory.Warning{Reason: "BackOff", Message: "no way", ObjectKind: "Pod", LastSeen: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}}},
		},
		"Normal":     {warningItems(read[event](t, `{"type":"Normal","involvedObject":{"name":"p"}}`)), nil},
		"NotASecret": {secretItems(read[secret](t, begin+`,"data":{"tls.crt":"eA==","tls.key":"eA=="}}`)), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSecretItems(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	shown := server.Certificate()
	encoded, err := json.Marshal(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: shown.Raw}))
	if err != nil {
		t.Fatal(err)
	}
	got := secretItems(read[secret](t, `{"metadata":{"namespace":"n","name":"s","uid":"u"},"data":{"tls.crt":`+string(encoded)+`,"tls.key":"eA=="}}`))
	want := []inventory.Item{{Key: inventory.Key{Kind: inventory.KindCertificate, Namespace: "n", Name: "s", Part: "Secret", UID: "u"}, Certificate: &inventory.Certificate{
		Subject: "O=Acme Co", Issuer: "O=Acme Co", DNSNames: []string{"*.example.com", "example.com"}, NotAfter: shown.NotAfter.UTC(),
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDeprecatedAPIs(t *testing.T) {
	const metrics = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="",version="v1beta1"} 1
apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="status",version="v1beta1"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="x",removed_release="",resource="never",subresource="",version="v1"} 0
apiserver_request_total{junk
`
	item := func(name, removed string) inventory.Item {
		return inventory.Item{Key: inventory.Key{Kind: inventory.KindAPI, Name: name}, API: &inventory.API{RemovedIn: removed}}
	}
	got, err := deprecatedAPIs(strings.NewReader(metrics))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]inventory.Item{item("core/v1/componentstatuses", ""), item("policy/v1beta1/poddisruptionbudgets", "1.25")}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := deprecatedAPIs(strings.NewReader("apiserver_requested_deprecated_apis{junk\n")); err == nil {
		t.Error("what cannot be parsed is no error")
	}
	if _, err := deprecatedAPIs(&listing.Capped{Reader: strings.NewReader(metrics), Left: 300}); err == nil {
		t.Error("what is too large is no error")
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{"plain": "plain", "a\x00b": "ab", "a\nb": "a b", strings.Repeat("é", 100): strings.Repeat("é", 8) + "…", "\xff": ""} {
		if got := listing.Clean(in, 20); got != want {
			t.Errorf("of %q: got %q, want %q", in, got, want)
		}
	}
}
