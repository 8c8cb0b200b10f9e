package stored

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// proto is an object as Kubernetes stores it.
func proto(t testing.TB, o runtime.Object) string {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := protobuf.NewSerializer(scheme, scheme).Encode(o, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestKindOf(t *testing.T) {
	pod := proto(t, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}})
	for value, want := range map[string]string{
		pod: "/v1, Kind=Pod", `{"apiVersion":"example.com/v1","kind":"Widget"}`: "example.com/v1, Kind=Widget", "k8s:enc:secretbox:v1:key1:x": "/v1, Kind=Secret",
		pod[:12]: "/, Kind=", "": "/, Kind=", `{"apiVersion":"a/b/c","kind":"X"}`: "/, Kind=", `{"kind":"X"}`: "/, Kind=",
	} {
		if got := KindOf(datastore.Entry{Key: "secrets/shop/x", Value: []byte(value)}).String(); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
	if got := KindOf(datastore.Entry{Key: "configmaps/shop/x", Value: []byte("k8s:enc:x")}).String(); got != "/, Kind=" {
		t.Errorf("got %q", got)
	}
}

// TestNameOf: keys are as a real API server writes them, which rehearsal.TestRealServer shows for all kinds that it has.
func TestNameOf(t *testing.T) {
	for key, want := range map[string]string{
		"pods/shop/web": "shop/web", "minions/n1": "n1", "namespaces/shop": "shop", "services/specs/shop/web": "shop/web", "services/endpoints/shop/web": "shop/web",
		"example.com/widgets/shop/a": "shop/a", "example.com/things/a": "a", "apiextensions.k8s.io/customresourcedefinitions/things.example.com": "things.example.com",
		"clusterroles/system:node": "system:node", "ranges/serviceips": "serviceips", "odd": "odd", "": "", "example.com/x": "example.com/x", "a/b/c/d": "b/c/d",
	} {
		if got := NameOf(key).String(); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

// FuzzKindOf: no stored value brings the program down, and none makes a text that is not shown in one line.
func FuzzKindOf(f *testing.F) {
	f.Add("pods/a/b", []byte(proto(f, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}})))
	f.Add("secrets/a/b", []byte("k8s:enc:x"))
	f.Add("example.com/widgets/a/b", []byte(`{"apiVersion":"example.com/v1","kind":"Widget"}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		kind := KindOf(datastore.Entry{Key: key, Value: value})
		for _, text := range []string{kind.Group, kind.Version, kind.Kind, NameOf(key).Namespace, NameOf(key).Name} {
			if len(text) > maxName+4 || strings.ContainsAny(text, "\n\r\x1b") {
				t.Errorf("got %q", text)
			}
		}
	})
}
