package volumes

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func newClaim(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: claimA, Annotations: map[string]string{annProvisioner: Provisioner, annSelectedNode: "one"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if change != nil {
		change(claim)
	}
	return claim
}

// newVolume is that of claimA on a host, as the API server has it.
func newVolume(host string, change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	volume := volumeFor(newClaim(nil), &storage.StorageClass{}, volumeName(claimA), host, "/volumes/"+claimA)
	volume.Annotations = map[string]string{annProvisionedBy: Provisioner}
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "a", UID: claimA}
	volume.Status.Phase = corev1.VolumeReleased
	if change != nil {
		change(volume)
	}
	return volume
}

func TestUnsupported(t *testing.T) {
	type claim = corev1.PersistentVolumeClaim
	modes := func(all ...corev1.PersistentVolumeAccessMode) func(*claim) {
		return func(c *claim) { c.Spec.AccessModes = all }
	}
	cases := map[string]struct {
		change func(*claim)
		class  storage.StorageClass
		want   string // what the refusal begins with; empty for none
	}{
		"Plain":      {},
		"Filesystem": {change: func(c *claim) { c.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem) }},
		"Block":      {change: func(c *claim) { c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }, want: "spec.volumeMode: "},
		"OncePod":    {change: modes(corev1.ReadWriteOncePod)},
		"Many":       {change: modes(corev1.ReadWriteMany), want: "spec.accessModes: "},
		"OnceOrMany": {change: modes(corev1.ReadWriteOnce, corev1.ReadOnlyMany), want: "spec.accessModes: "},
		"Clone": {change: func(c *claim) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "b"}
		}, want: "spec.dataSource: "},
		"CloneByReference": {change: func(c *claim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "b"}
		}, want: "spec.dataSource: "},
		"Selector":   {change: func(c *claim) { c.Spec.Selector = &metav1.LabelSelector{} }, want: "spec.selector: "},
		"Parameters": {class: storage.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Parameters: map[string]string{"type": "fast"}}, want: "parameters of StorageClass mine: "},
		"UID":        {change: func(c *claim) { c.UID = "../x" }, want: `the UID "../x" of the claim `},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := unsupported(newClaim(c.change), &c.class)
			if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("%v, not %q", err, c.want)
			}
			if err != nil && status.Code(err) != codes.InvalidArgument {
				t.Errorf("the library does not take %v for what cannot be", err)
			}
		})
	}
}

func TestVolumeFor(t *testing.T) {
	retain := corev1.PersistentVolumeReclaimRetain
	class := &storage.StorageClass{ReclaimPolicy: &retain, MountOptions: []string{"noexec"}}
	want := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + claimA},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			VolumeMode:                    new(corev1.PersistentVolumeFilesystem),
			PersistentVolumeReclaimPolicy: retain,
			MountOptions:                  []string{"noexec"},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"h"}}},
			}}}},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/v/" + claimA}},
		},
	}
	got := volumeFor(newClaim(nil), class, volumeName(claimA), "h", "/v/"+claimA)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if host := hostOf(got); host != "h" {
		t.Errorf("it is on %q", host)
	}
}

func TestClaimOf(t *testing.T) {
	type volume = corev1.PersistentVolume
	for name, c := range map[string]struct {
		change func(*volume)
		want   types.UID // empty for a refusal
	}{
		"Ours":       {nil, claimA},
		"NoClaim":    {func(v *volume) { v.Spec.ClaimRef = nil }, ""},
		"NoPath":     {func(v *volume) { v.Spec.Local = nil }, ""},
		"Elsewhere":  {func(v *volume) { v.Spec.Local.Path = "/etc" }, ""},
		"Above":      {func(v *volume) { v.Spec.ClaimRef.UID, v.Name, v.Spec.Local.Path = "..", "pvc-..", "/volumes/.." }, ""},
		"OtherClaim": {func(v *volume) { v.Spec.ClaimRef.UID = claimB }, ""},
		"OtherName":  {func(v *volume) { v.Name = "mine" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			claim, err := claimOf(newVolume("h", c.change), func(uid types.UID) string { return "/volumes/" + string(uid) })
			if (err == nil) != (c.want != "") || err == nil && claim.UID != c.want {
				t.Errorf("%v, %v", claim, err)
			}
		})
	}
}

func TestHostOf(t *testing.T) {
	type volume = corev1.PersistentVolume
	for name, change := range map[string]func(*volume){
		"None":    func(v *volume) { v.Spec.NodeAffinity = nil },
		"NoTerms": func(v *volume) { v.Spec.NodeAffinity.Required = nil },
		"TwoTerms": func(v *volume) {
			n := v.Spec.NodeAffinity.Required
			n.NodeSelectorTerms = append(n.NodeSelectorTerms, n.NodeSelectorTerms...)
		},
		"NotIn": func(v *volume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Operator = corev1.NodeSelectorOpNotIn
		},
		"TwoHosts": func(v *volume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values = []string{"a", "b"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if host := hostOf(newVolume("h", change)); host != "" {
				t.Errorf("it is on %q", host)
			}
		})
	}
}

func TestFoldersOf(t *testing.T) {
	type volume = corev1.PersistentVolume
	other := func(v *volume) { v.Name, v.Annotations = "mine", nil }
	for name, c := range map[string]struct {
		host   string
		change func(*volume)
		want   []string
	}{
		"Ours":        {"h", nil, []string{claimA, claimA}},
		"OfAnother":   {"g", nil, nil},
		"UsersOwn":    {"h", other, []string{claimA}},
		"UsersBelow":  {"h", func(v *volume) { other(v); v.Spec.Local.Path += "/below" }, []string{claimA}},
		"UsersBeside": {"h", func(v *volume) { other(v); v.Spec.Local.Path = "/volumesque/" + claimA }, nil},
		"HostPath": {"h", func(v *volume) {
			other(v)
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/volumes/" + claimA}}
			v.Spec.NodeAffinity = nil // any node
		}, []string{claimA}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, foldersOf(newVolume(c.host, c.change), "/volumes", "h")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.PersistentVolume)
		want   bool
	}{
		"Released": {nil, true},
		"Bound":    {func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound }, false},
		"Retained": {func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		}, false},
		"Deleting": {func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{} }, false},
		"Here":     {func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity = affinityTo("h") }, false},
		"NoHost":   {func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity = nil }, false},
		"Others":   {func(v *corev1.PersistentVolume) { v.Annotations = nil }, false},
	} {
		if got := ownedElsewhere(newVolume("g", c.change), "h"); got != c.want {
			t.Errorf("volume %s: %t", name, got)
		}
	}
	for name, c := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		want   bool
	}{
		"Waits":    {nil, true},
		"Here":     {func(p *corev1.PersistentVolumeClaim) { p.Annotations[annSelectedNode] = "h" }, false},
		"Bound":    {func(p *corev1.PersistentVolumeClaim) { p.Spec.VolumeName = "v" }, false},
		"Nowhere":  {func(p *corev1.PersistentVolumeClaim) { delete(p.Annotations, annSelectedNode) }, false},
		"OfOthers": {func(p *corev1.PersistentVolumeClaim) { p.Annotations[annProvisioner] = "example.com/other" }, false},
	} {
		if got := waitsElsewhere(newClaim(c.change), "h"); got != c.want {
			t.Errorf("claim %s: %t", name, got)
		}
	}
}

func TestLedger(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	l := &ledger{host: "h", volumes: store, granted: map[string]int64{}, capacity: func() (int64, error) { return 10, nil }}
	add := func(name, host, size string) {
		t.Helper()
		err := store.Add(newVolume(host, func(v *corev1.PersistentVolume) {
			v.Name = name
			v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want int64) {
		t.Helper()
		if left, err := l.left(); left != want || err != nil {
			t.Errorf("%s: %d left, %v; want %d", when, left, err, want)
		}
	}
	add("a", "h", "4")
	add("other", "g", "9")
	expect("with a volume", 6)
	for range 2 { // a claim is answered again after a crash
		if err := l.grant("b", 5); err != nil {
			t.Fatal(err)
		}
	}
	expect("with one that was granted", 1)
	want := noSpaceError{host: "h", asked: 2, left: 1, size: 10}
	if err := l.grant("c", 2); !errors.Is(err, want) {
		t.Errorf("%v, not %v", err, want)
	}
	if err := l.grant("b", 7); err == nil {
		t.Error("b has grown beyond what is left")
	}
	expect("after what did not fit", 1)
	add("b", "h", "5")
	expect("once the volume is known", 1)
	if len(l.granted) > 0 {
		t.Errorf("granted twice: %v", l.granted)
	}
	if err := l.grant("c", 1); err != nil {
		t.Fatal(err)
	}
	l.drop("c")
	expect("after the folder could not be created", 1)
	add("huge", "h", "9223372036854775807")
	expect("with more than there is", 0)
	failing := errors.New("no disk")
	l.capacity = func() (int64, error) { return 0, failing }
	if err := l.grant("d", 1); !errors.Is(err, failing) {
		t.Errorf("%v, not %v", err, failing)
	}
}

func TestUsed(t *testing.T) {
	book := func(bytes ...int64) map[string]int64 {
		m := map[string]int64{}
		for i, b := range bytes {
			m[string(rune('a'+i))] = b
		}
		return m
	}
	if got := used(book(1, 2), book(3, -5)); got != 6 {
		t.Errorf("%d, not 6", got)
	}
	if got := used(book(math.MaxInt64, 2), book(3)); got != math.MaxInt64 {
		t.Errorf("%d, not the largest number", got)
	}
}

func TestCapacities(t *testing.T) {
	class := &storage.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local", UID: "c"}}
	got := capacities(place{name: "one", host: "h", uid: "n"}, []*storage.StorageClass{class}, 3)
	want := map[string]*storage.CSIStorageCapacity{"n-c": {
		ObjectMeta: metav1.ObjectMeta{
			Name: "n-c", Namespace: "kube-system", Labels: map[string]string{labelNode: "n"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "one", UID: "n"}},
		},
		StorageClassName: "local",
		NodeTopology:     &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/hostname": "h"}},
		Capacity:         resource.NewQuantity(3, resource.BinarySI),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestStrip holds that what decisions are made from survives.
func TestStrip(t *testing.T) {
	noise := func(o metav1.Object) {
		o.SetLabels(map[string]string{"a": "b"})
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}})
	}
	claim := newClaim(func(c *corev1.PersistentVolumeClaim) {
		noise(c)
		c.Annotations["example.com/note"] = "long"
		c.Status.Capacity = c.Spec.Resources.Requests
	})
	volume := newVolume("h", func(v *corev1.PersistentVolume) {
		noise(v)
		v.Status.Message = "long"
	})
	for want, got := range map[any]any{newClaim(nil): claim, newVolume("h", nil): volume} {
		got, err := strip(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
