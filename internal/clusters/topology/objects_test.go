package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said is what an object says of others, in lines.
func said(o Object) []string {
	var lines []string
	for _, owner := range o.Owners {
		lines = append(lines, fmt.Sprintf("owned by %s.%s/%s %s", owner.Kind, owner.Group, owner.Name, owner.UID))
	}
	for _, t := range o.Targets {
		line := fmt.Sprintf("%s %s", t.As, t.ID())
		if t.Reverse {
			line = fmt.Sprintf("%s %s this", t.ID(), t.As)
		}
		lines = append(lines, line)
	}
	if o.Selector != nil {
		lines = append(lines, "selects "+o.Selector.String())
	}
	if o.Phase != "" {
		lines = append(lines, "phase "+o.Phase)
	}
	return lines
}

func kindOf(t *testing.T, resource string) kind {
	t.Helper()
	for _, k := range append(others(), pods()) {
		if k.resource == resource {
			return k
		}
	}
	t.Fatalf("%s are not listed", resource)
	return kind{}
}

func TestObjects(t *testing.T) {
	for name, c := range map[string]struct {
		resource, object string
		want             []string
	}{
		"Owner": {
			"replicasets", `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u1","controller":true},{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"u2"}]}}`,
			[]string{"owned by Deployment.apps/web u1", "owned by ConfigMap./c u2"},
		},
		"Pod": {
			"pods", `{"metadata":{"namespace":"ns","labels":{"app":"web"}},"status":{"phase":"Running"},"spec":{"nodeName":"n1","imagePullSecrets":[{"name":"pull"}],
			"volumes":[{"configMap":{"name":"conf"}},{"secret":{"secretName":"tls"}},{"persistentVolumeClaim":{"claimName":"data"}},{"emptyDir":{}},
			{"projected":{"sources":[{"configMap":{"name":"kube-root-ca.crt"}},{"secret":{"name":"more"}},{"serviceAccountToken":{"path":"token"}}]}},{"csi":{"nodePublishSecretRef":{"name":"csi"}}}],
			"initContainers":[{"envFrom":[{"configMapRef":{"name":"conf"}}]}],
			"containers":[{"envFrom":[{"secretRef":{"name":"env"}}],"env":[{"name":"A","value":"b"},{"valueFrom":{"secretKeyRef":{"name":"key"}}},{"valueFrom":{"configMapKeyRef":{"name":"conf2"}}}]}],
			"ephemeralContainers":[{"envFrom":[{"secretRef":{"name":"debug"}}]}]}}`,
			[]string{
				"RunsOn Node/n1", "Uses ConfigMap/ns/conf", "Uses Secret/ns/tls", "Uses PersistentVolumeClaim/ns/data", "Uses ConfigMap/ns/kube-root-ca.crt", "Uses Secret/ns/more",
				"Uses Secret/ns/csi", "Uses Secret/ns/env", "Uses Secret/ns/key", "Uses ConfigMap/ns/conf2", "Uses Secret/ns/debug", "Uses Secret/ns/pull", "phase Running",
			},
		},
		"PodWithNothing": {"pods", `{}`, nil},
		"Service":        {"services", `{"spec":{"selector":{"app":"web","tier":"x"}}}`, []string{"selects app=web,tier=x"}},
		"NoSelector":     {"services", `{"spec":{}}`, nil},
		"Claim":          {"persistentvolumeclaims", `{"metadata":{"namespace":"ns"},"spec":{"volumeName":"pv-1"},"status":{"phase":"Bound"}}`, []string{"BoundTo PersistentVolume/pv-1", "phase Bound"}},
		"Ingress": {
			"ingresses", `{"metadata":{"namespace":"ns"},"spec":{"defaultBackend":{"service":{"name":"d"}},"tls":[{"secretName":"cert"},{}],"rules":[{"host":"h"},{"http":{"paths":[{"backend":{"service":{"name":"a"}}},{"backend":{"resource":{"kind":"X","name":"y"}}}]}}]}}`,
			[]string{"RoutesTo Service/ns/d", "RoutesTo Service/ns/a", "Uses Secret/ns/cert"},
		},
		"Policy":       {"networkpolicies", `{"spec":{"podSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"Exists"}]}}}`, []string{"selects a=b,c"}},
		"PolicyForAll": {"networkpolicies", `{"spec":{"podSelector":{}}}`, []string{"selects "}},
		"Budget":       {"poddisruptionbudgets", `{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`, []string{"selects a=b"}},
		"Scaler":       {"horizontalpodautoscalers", `{"metadata":{"namespace":"ns"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`, []string{"Scales Deployment.apps/ns/web"}},
		"Route": {
			"httproutes", `{"metadata":{"namespace":"ns"},"spec":{"parentRefs":[{"name":"gw","namespace":"infra"},{"group":"","kind":"Service","name":"mesh"}],"rules":[{"backendRefs":[{"name":"web","port":80},{"group":"example.com","kind":"Bucket","name":"b","namespace":"x"}]}]}}`,
			[]string{"Gateway.gateway.networking.k8s.io/infra/gw RoutesTo this", "Service/ns/mesh RoutesTo this", "RoutesTo Service/ns/web", "RoutesTo Bucket.example.com/x/b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kindOf(t, c.resource).decode([]byte(c.object))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, said(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestHostileObjects: an object has no more owners, references and labels than are looked at, no longer names, and names that a terminal
// shows as they are.
func TestHostileObjects(t *testing.T) {
	long := strings.Repeat("x", 1<<16) + "\x1b[2J"
	many := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	for name, c := range map[string]struct {
		object string
		cut    bool
	}{
		"LongNames": {fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%[1]q,"uid":%[1]q,"ownerReferences":[{"apiVersion":%[1]q,"kind":%[1]q,"name":%[1]q,"uid":%[1]q}]},"spec":{"nodeName":%[1]q},"status":{"phase":%[1]q}}`, strings.ReplaceAll(long, "\x1b", "e")), false},
		"Owners":    {`{"metadata":{"ownerReferences":[` + many(1000, `{"kind":"A","name":"%d"}`) + `]}}`, true},
		"Volumes":   {`{"spec":{"volumes":[` + many(1000, `{"secret":{"secretName":"s%d"}}`) + `]}}`, true},
		"Labels":    {`{"metadata":{"labels":{` + many(1000, `"l%d":"v"`) + `}}}`, true},
		"Controls":  {`{"metadata":{"name":"a\u001b[2J\nb","namespace":"\u202e"},"spec":{"nodeName":"\u0000"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := pods().decode([]byte(c.object))
			if err != nil {
				t.Fatal(err)
			}
			if o.Cut != c.cut || len(o.Owners) > maxOwners || len(o.Targets) > maxTargets || len(o.Labels) > maxLabels || o.size() > 128<<10 {
				t.Errorf("%d owners, %d references, %d labels, %d bytes, cut: %t", len(o.Owners), len(o.Targets), len(o.Labels), o.size(), o.Cut)
			}
			for _, text := range append(said(o), o.ID()) {
				if strings.ContainsAny(text, "\x00\x1b\n\u202e") || len(text) > 4*maxName {
					t.Errorf("%q is not a line", text)
				}
			}
		})
	}
	for _, bad := range []string{``, `[]`, `{"metadata":7}`, `{"metadata":{"ownerReferences":{}}}`} {
		if _, err := pods().decode([]byte(bad)); err == nil {
			t.Errorf("%s is an object", bad)
		}
	}
}
