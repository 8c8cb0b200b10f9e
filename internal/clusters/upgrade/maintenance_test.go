package upgrade

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestMaintenance: an upgrade looks and backs up at any time, and changes the cluster in a window alone, or when it is told to.
func TestMaintenance(t *testing.T) {
	noon := time.Date(2026, time.November, 26, 12, 0, 0, 0, time.UTC)
	night := &v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{{Schedule: "0 2 * * *", DurationSeconds: 7200}}}
	frozen := &v1alpha1.Maintenance{FreezeEndTime: ptr.To(metav1.NewTime(noon.Add(time.Hour)))}
	for name, c := range map[string]struct {
		of     *v1alpha1.Maintenance
		ignore bool
		// waits is why it waits at noon; empty when it does not. opens is when it goes on.
		waits string
		opens time.Time
	}{
		"Window":  {night, false, "Control plane v1.36.3 waits for a maintenance window", noon.Add(14 * time.Hour)},
		"Frozen":  {frozen, false, "Control plane v1.36.3 waits for the end of the freeze", noon.Add(time.Hour)},
		"Ignored": {night, true, "", time.Time{}},
		"None":    {nil, false, "", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "a")
			p.now = noon
			cluster := &v1alpha1.Cluster{}
			if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cluster); err != nil {
				t.Fatal(err)
			}
			cluster.Spec.Maintenance = c.of
			if err := p.client.Update(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if _, err := p.step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			u := p.upgrade(t, "up", "v1.36.3", func(s *v1alpha1.UpgradeSpec) { s.IgnoreMaintenance = c.ignore })
			p.settle(t, u)
			if c.waits != "" {
				said := says(u)
				if !strings.Contains(said, c.waits) || u.Status.CompletionTime != nil || u.Status.BackupName == "" || !u.Status.NextWindowTime.Time.Equal(c.opens) {
					t.Fatalf("got %q, next %v, backup %q", said, u.Status.NextWindowTime, u.Status.BackupName)
				}
				if cluster, _, err := p.both(t.Context()); err != nil || cluster.Spec.Version != "v1.35.4" {
					t.Fatalf("the cluster wants %s, %v", cluster.Spec.Version, err)
				}
				p.now = c.opens
				p.settle(t, u)
			}
			if u.Status.CompletionTime == nil || u.Status.NextWindowTime != nil {
				t.Errorf("%s; next %v", says(u), u.Status.NextWindowTime)
			}
		})
	}
}
