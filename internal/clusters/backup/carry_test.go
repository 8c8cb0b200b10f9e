package backup

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/stored"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// protoOf is an object as Kubernetes stores it.
func protoOf(o runtime.Object) string {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	var out strings.Builder
	if err := protobuf.NewSerializer(scheme, scheme).Encode(o, &out); err != nil {
		panic(err)
	}
	return out.String()
}

// archiveWrite writes a backup again, as it was before backups had something for their store alone.
func archiveWrite(ctx context.Context, of archived, p *place, revision *int64) (string, error) {
	of.about.Trust = map[string]string{"encryption": "sha256:aa"}
	lines := stateLines{p, nil, &p.state, &p.running}
	w, err := archive.Write(ctx, of.bucket, of.keys, of.about, toArchive(lines.sorted()), revision, p.world(nil).Now)
	return w.Digest, err
}

func TestCarry(t *testing.T) {
	cipher, err := atrest.NewCipher(map[string][]byte{atrest.Key: make([]byte, atrest.Length)})
	if err != nil {
		t.Fatal(err)
	}
	c := carrier{cipher, cipher, map[string]bool{"kept": true}}
	for key, want := range map[string]fate{
		"configmaps/shop/a": asItIs, "example.com/widgets/shop/a": asItIs, "services/specs/default/kubernetes": asItIs, "servicecidrs/kubernetes": asItIs,
		"clusterrolebindings/kqueen:cluster-admin": asItIs, "services/endpoints/shop/web": asItIs, "persistentvolumes/kept": asItIs, "serviceaccounts/shop/default": asItIs,
		"ranges/serviceips": asItIs, "apiregistration.k8s.io/apiservices/v1beta1.metrics.k8s.io": asItIs, "namespaces/kube-node-lease": asItIs,
		"persistentvolumes/other": leftOut, "minions/n": leftOut, "csinodes/n": leftOut, "leases/kube-node-lease/n": leftOut, "leases/kube-system/kube-scheduler": leftOut,
		"volumeattachments/csi-1": leftOut, "csistoragecapacities/kube-system/a": leftOut, "resourceslices/n-gpu": leftOut, "certificatesigningrequests/a": leftOut,
		"secrets/kube-system/bootstrap-token-abcdef": leftOut, "masterleases/10.0.0.1": leftOut, "services/endpoints/default/kubernetes": leftOut,
		"endpointslices/default/kubernetes": leftOut, "configmaps/shop/kube-root-ca.crt": leftOut, "configmaps/kube-public/cluster-info": leftOut,
		"configmaps/kube-system/extension-apiserver-authentication": leftOut,
	} {
		if e, got, err := c.carry(t.Context(), datastore.Entry{Key: key, Value: []byte("x")}); got != want || err != nil || string(e.Value) != "x" {
			t.Errorf("%s: got %d, want %d: %v", key, got, want, err)
		}
	}
	for _, key := range []string{"pods/shop/a", "secrets/shop/a", "persistentvolumeclaims/shop/a"} {
		if _, _, err := c.carry(t.Context(), datastore.Entry{Key: key, Value: []byte("{}")}); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

func TestUnbind(t *testing.T) {
	controlled := []metav1.OwnerReference{*metav1.NewControllerRef(&corev1.Node{}, corev1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", QOSClass: corev1.PodQOSBurstable}}
		change(p)
		return p
	}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want fate
	}{
		"Bare":      {pod(func(*corev1.Pod) {}), changed},
		"OfSet":     {pod(func(p *corev1.Pod) { p.OwnerReferences = controlled }), leftOut},
		"Mirror":    {pod(func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }), leftOut},
		"Ended":     {pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), leftOut},
		"Evicted":   {pod(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "", corev1.PodFailed }), leftOut},
		"Leaving":   {pod(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), leftOut},
		"Unplaced":  {pod(func(p *corev1.Pod) { p.Spec.NodeName = "" }), asItIs},
		"SetWaits":  {pod(func(p *corev1.Pod) { p.Spec.NodeName, p.OwnerReferences = "", controlled }), asItIs},
		"NodeOwned": {pod(func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: ""} }), leftOut},
	} {
		if got := unbind(c.pod); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
		if c.want == changed {
			want := corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable}
			if diff := cmp.Diff(want, c.pod.Status); diff != "" || c.pod.Spec.NodeName != "" {
				t.Errorf("%s: on %q, %s", name, c.pod.Spec.NodeName, diff)
			}
		}
	}
}

func TestRelease(t *testing.T) {
	c := carrier{volumes: map[string]bool{"kept": true}}
	claim := func(volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes", "volume.kubernetes.io/selected-node": "n", "mine": "stays",
			}},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		}
	}
	for volume, want := range map[string]fate{"": asItIs, "kept": asItIs, "gone": changed} {
		got := claim(volume)
		if f := c.release(got); f != want {
			t.Errorf("%q: got %d, want %d", volume, f, want)
		}
		if want != changed {
			continue
		}
		released := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"mine": "stays"}}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
		}
		if diff := cmp.Diff(released, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestKept: a volume that goes with its claim stays with the cluster that it is of.
func TestKept(t *testing.T) {
	all := map[string]string{"pods/x": "x"}
	for name, policy := range map[string]corev1.PersistentVolumeReclaimPolicy{"a": corev1.PersistentVolumeReclaimRetain, "b": corev1.PersistentVolumeReclaimDelete, "c": ""} {
		all["persistentvolumes/"+name] = protoOf(&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: policy}})
	}
	got, err := kept(entriesOf(all))
	if diff := cmp.Diff(map[string]bool{"a": true}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestWithoutToken(t *testing.T) {
	s := &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": {1}, "ca.crt": {2}, "namespace": {3}}}
	if f := withoutToken(s); f != changed || len(s.Data) != 1 {
		t.Errorf("got %d with %v", f, s.Data)
	}
	if f := withoutToken(&corev1.Secret{Data: map[string][]byte{"token": {1}}}); f != asItIs {
		t.Errorf("got %d", f)
	}
}

// TestCarryReal: all that a real API server has stored can be carried, and what is changed has the kind that it had.
func TestCarryReal(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := controlplanetest.Namespace(t, c)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "x"}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"word": []byte("open")}}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for key, value := range controlplanetest.Stored(t) {
		all[key] = string(value)
	}
	keys := func(name string) atrest.Cipher {
		cipher, err := atrest.NewCipher(map[string][]byte{atrest.Key: []byte(strings.Repeat(name, atrest.Length))})
		if err != nil {
			t.Fatal(err)
		}
		return cipher
	}
	to, got := keys("n"), map[string]datastore.Entry{}
	for e, err := range (carrier{keys("o"), to, nil}).all(t.Context(), entriesOf(all), &v1alpha1.RestoreChanges{}) {
		if err != nil {
			t.Fatal(err)
		}
		got[e.Key] = e
	}
	carried := &corev1.Pod{}
	e := got["pods/"+namespace+"/x"]
	if err := stored.Decode(e.Value, carried); err != nil || carried.Spec.NodeName != "" || carried.UID != pod.UID || stored.KindOf(e).Kind != "Pod" {
		t.Errorf("the pod is %s of kind %s on %q: %v", carried.UID, stored.KindOf(e), carried.Spec.NodeName, err)
	}
	plain, err := to.Open(t.Context(), got["secrets/"+namespace+"/x"].Value)
	if err != nil || !strings.Contains(string(plain), "open") || strings.Contains(string(got["secrets/"+namespace+"/x"].Value), "open") {
		t.Errorf("the Secret is not encrypted with the new key alone: %v", err)
	}
	if _, there := got["services/specs/default/kubernetes"]; !there {
		t.Error("the Service of the API server is missing")
	}
	if _, there := got["configmaps/kube-system/extension-apiserver-authentication"]; there {
		t.Error("the authorities of the other API server are there")
	}
}
