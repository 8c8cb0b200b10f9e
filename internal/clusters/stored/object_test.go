package stored

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// TestEncode: a value that is written again has the kind that it had, and nothing else is changed.
func TestEncode(t *testing.T) {
	meta := metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod := &corev1.Pod{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}, Spec: corev1.PodSpec{NodeName: "n"}}
	value := []byte(proto(t, pod))
	got := &corev1.Pod{}
	if err := Decode(value, got); err != nil || got.Spec.NodeName != "n" || got.UID != "u" {
		t.Fatalf("got %v: %v", got, err)
	}
	if same, err := Encode(value, got); err != nil || !bytes.Equal(same, value) {
		t.Errorf("it is written as %q, was %q: %v", same, value, err)
	}
	got.Spec.NodeName = ""
	changed, err := Encode(value, got)
	if err != nil || KindOf(datastore.Entry{Key: "pods/shop/web", Value: changed}).Kind != "Pod" {
		t.Fatalf("it is written as %q: %v", changed, err)
	}
	again := &corev1.Pod{}
	if err := Decode(changed, again); err != nil || again.Spec.NodeName != "" || again.UID != "u" {
		t.Errorf("got %v: %v", again, err)
	}
	for _, other := range []string{"", "{}", "k8s:enc:secretbox:v1:x", "k8s\x00\xff\xff"} {
		if err := Decode([]byte(other), &corev1.Pod{}); err == nil {
			t.Errorf("%q was read", other)
		}
	}
}

// FuzzDecode: no stored value brings the program down.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(proto(f, &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}})))
	f.Add([]byte("k8s\x00x"))
	f.Fuzz(func(_ *testing.T, value []byte) {
		secret := &corev1.Secret{}
		if Decode(value, secret) == nil {
			_, _ = Encode(value, secret)
		}
	})
}
