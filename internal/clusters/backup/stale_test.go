package backup

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// TestWrittenOnce: a restore that does not know that it has written its state, as the answer to its last status was lost, writes nothing: users
// have used the cluster since.
func TestWrittenOnce(t *testing.T) {
	for name, write := range map[string]func(p *place, rs *v1alpha1.Restore) error{
		"InPlace": func(p *place, rs *v1alpha1.Restore) error {
			cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}}
			_, err := (&restores{p.world(nil)}).rewrite(t.Context(), rs, p.taken(t), cp)
			return err
		},
		"NewCluster": func(p *place, rs *v1alpha1.Restore) error {
			_, err := (&newClusters{&restores{p.world(nil)}}).write(t.Context(), rs, p.taken(t))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := fillPlace(t)
			rs := p.twin(t, func(spec *v1alpha1.RestoreSpec) {
				if name == "InPlace" {
					spec.NewClusterName = ""
				}
			})
			p.settle(t, rs)
			if rs.Status.WrittenTime == nil {
				t.Fatal(saysOf(rs))
			}
			p.state["configmaps/default/since"], p.newState["configmaps/default/since"] = "1", "1"
			before, beforeNew := maps.Clone(p.state), maps.Clone(p.newState)
			rs.Status.WrittenTime = nil
			if err := write(p, rs); err == nil || !strings.Contains(err.Error(), "has written its state already") {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, p.state) + cmp.Diff(beforeNew, p.newState); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// taken reads the backup "then".
func (p *place) taken(t *testing.T) *v1alpha1.Backup {
	t.Helper()
	b := &v1alpha1.Backup{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "then"}, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSweep: what was written for a cluster that is gone is removed, and nothing of one that is there.
func TestSweep(t *testing.T) {
	p := fillPlace(t)
	rs := p.twin(t, nil)
	p.settle(t, rs)
	p.newRunning = false
	before := maps.Clone(p.newState)
	state, n := stateLines{p, &operatortest.Injector{}, &p.newState, &p.newRunning}, &newClusters{&restores{p.world(nil)}}
	if err := n.sweep(t.Context(), rs, state); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, p.newState); diff != "" || len(before) == 0 {
		t.Errorf("of a cluster that is there: %s", diff)
	}
	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "twin"}}
	if err := p.client.Delete(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	if err := n.sweep(t.Context(), rs, state); err == nil || !strings.Contains(err.Error(), "the new cluster was deleted") || len(p.newState) > 0 {
		t.Errorf("of a cluster that is gone: %v is left, %v", p.newState, err)
	}
}
