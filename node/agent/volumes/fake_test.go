package volumes

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// withAgent returns the agent of host h, whose cache is empty, with a client that answers from objects.
func withAgent(t *testing.T, objects ...runtime.Object) (*agent, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(objects...)
	return &agent{client: client, node: place{name: "one", host: "h", uid: "n"}, folders: open(t), watched: watch(client), grace: time.Hour}, client
}

// TestDelete is about volumes that users made look released, and an API server that does not answer.
func TestDelete(t *testing.T) {
	down := errors.New("down")
	another := newClaim(func(c *corev1.PersistentVolumeClaim) { c.UID = claimB })
	for name, c := range map[string]struct {
		objects []runtime.Object
		fail    error
		deleted bool
		inUse   bool
	}{
		"ClaimGone":         {deleted: true},
		"ClaimThere":        {objects: []runtime.Object{newClaim(nil)}, inUse: true},
		"ClaimOfTheName":    {objects: []runtime.Object{another}, deleted: true},
		"APIServerDoesNot":  {fail: down},
		"ClaimThereAndDown": {objects: []runtime.Object{newClaim(nil)}, fail: down},
	} {
		t.Run(name, func(t *testing.T) {
			a, client := withAgent(t, c.objects...)
			if c.fail != nil {
				client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.fail })
			}
			put(t, a.folders.dir, claimA+"/x")
			volume := newVolume("h", func(v *corev1.PersistentVolume) { v.Spec.Local.Path = a.folders.path(claimA) })
			err := (&provisioner{agent: a}).Delete(t.Context(), volume)
			var inUse *controller.VolumeInUseError
			if errors.As(err, &inUse) != c.inUse || !errors.Is(err, c.fail) && c.fail != nil || (err == nil) != c.deleted {
				t.Errorf("%v", err)
			}
			if left := tree(t, a.folders.dir); (len(left) == 0) != c.deleted {
				t.Errorf("left are %v", left)
			}
		})
	}
}

// TestSweepFolders is about what the API server says of a folder, when the cache has nothing of it.
func TestSweepFolders(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bound := newClaim(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = volumeName(claimA) })
	aside := nameReleased(claimA, now.Add(-time.Minute))
	for name, c := range map[string]struct {
		objects []runtime.Object
		before  string
		fail    string // the resource of which lists fail
		want    string
	}{
		"Unknown":       {nil, claimA, "", nameReleased(claimA, now)},
		"Waiting":       {[]runtime.Object{newClaim(nil)}, claimA, "", claimA},
		"Bound":         {[]runtime.Object{bound, newVolume("h", nil)}, claimA, "", claimA},
		"BoundThere":    {[]runtime.Object{bound, newVolume("g", nil)}, claimA, "", nameReleased(claimA, now)},
		"Lost":          {[]runtime.Object{bound}, claimA, "", nameReleased(claimA, now)},
		"ClaimsFail":    {nil, claimA, "persistentvolumeclaims", claimA},
		"VolumesFail":   {nil, claimA, "persistentvolumes", claimA},
		"Returned":      {[]runtime.Object{bound, newVolume("h", nil)}, aside, "", aside}, // the cache will have it
		"OfTheOperator": {nil, "backup", "", "backup"},
	} {
		t.Run(name, func(t *testing.T) {
			a, client := withAgent(t, c.objects...)
			if c.fail != "" {
				client.PrependReactor("list", c.fail, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("down") })
			}
			put(t, a.folders.dir, c.before+"/x")
			if err := a.sweepFolders(t.Context(), now); (err != nil) != (c.fail != "") {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{c.want + "/x"}, tree(t, a.folders.dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
