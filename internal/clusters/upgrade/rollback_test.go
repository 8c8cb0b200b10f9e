package upgrade

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

func back(s *v1alpha1.UpgradeSpec) { s.Rollback = true }

func byBackup(s *v1alpha1.UpgradeSpec) { s.Rollback, s.RestoreBackupName = true, "monday" }

// TestRollbackByBackup: what only the newer minor knows does not stand against it; the backup is compared before anything is changed, and
// restored while the control plane emulates the older minor.
func TestRollbackByBackup(t *testing.T) {
	p := newPlaceAt(t, "v1.36.3", "a")
	p.stored = map[string]string{"mutatingadmissionpolicies/m": policy}
	p.backedUp(t, "monday", "v1.35.4")
	u := p.upgrade(t, "back", "v1.35.4", byBackup)
	p.settle(t, u)
	got, err := p.snapshot(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	want := end{
		Spec: "v1.35.4", Runs: "v1.35.4", Pools: []string{"a="}, Machines: []string{"a-v1-35-4"}, Backups: 1,
		Restores: []string{"compare of monday, only compared: true, ended: true", "rollback of monday, only compared: false, ended: true"},
		Steps: []string{
			"Done Preflight", "Skipped Backup", "Done Comparison with backup monday", "Done Node pool a v1.35.4", "Done Control plane as v1.35",
			"Done Restore of backup monday", "Done Control plane v1.35.4",
		},
		Conditions: []string{
			"BackedUp=True UpgradeStepDone", "Planned=True UpgradeStepDone", "PreflightPassed=True UpgradeStepDone", "Ready=True Ready",
			"Reconciling=False Idle", "Stalled=False Idle", "Upgraded=True UpgradeStepDone",
		},
		Finalizers: []string{"kqueen.io/upgrade"}, Completed: true, FromVersion: "v1.36.3",
	}
	if diff := cmp.Diff(want, got); diff != "" || p.restored != 1 {
		t.Errorf("restored %d times; -want +got:\n%s", p.restored, diff)
	}
	if got, want := u.Status.Steps[2].Message, "lost by the restore: 3 objects created, 2 changed and 1 deleted since"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnsuited: only a whole backup of this very cluster, of the minor that it goes back to, is restored by a rollback.
func TestUnsuited(t *testing.T) {
	s := subject{&v1alpha1.Cluster{}, &v1alpha1.ControlPlane{}}
	s.cluster.UID, s.plane.UID = "c", "p"
	good := v1alpha1.Backup{}
	good.Status.Digest, good.Status.ClusterUID, good.Status.ControlPlaneUID, good.Status.Version = "sha256:bb", "c", "p", "v1.35.2"
	for name, c := range map[string]struct {
		change func(*v1alpha1.Backup)
		want   string
	}{
		"Good":         {func(*v1alpha1.Backup) {}, ""},
		"NotTaken":     {func(b *v1alpha1.Backup) { b.Status.Digest = "" }, "is not complete"},
		"OtherCluster": {func(b *v1alpha1.Backup) { b.Status.ClusterUID = "d" }, "is not one of this cluster"},
		"Newer":        {func(b *v1alpha1.Backup) { b.Status.Version = "v1.36.3" }, "is of v1.36.3; want one that was taken while the cluster had v1.35"},
		"Older":        {func(b *v1alpha1.Backup) { b.Status.Version = "v1.34.2" }, "is of v1.34.2; want one that was taken while the cluster had v1.35"},
		"NoVersion":    {func(b *v1alpha1.Backup) { b.Status.Version = "" }, "is of an unknown version; want one that was taken while the cluster had v1.35"},
	} {
		b := good.DeepCopy()
		c.change(b)
		if got := unsuited(b, s, version(t, "v1.35.4")); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestRollback: nodes go first, also those of a pool whose own version is too new, and the control plane emulates the minor before it is
// lowered; world_test has it wrong otherwise.
func TestRollback(t *testing.T) {
	p := newPlaceAt(t, "v1.36.3", "a", "new=v1.36.3", "old=v1.34.2")
	u := p.upgrade(t, "back", "v1.35.4", back)
	p.settle(t, u)
	got, err := p.snapshot(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	want := end{
		Spec: "v1.35.4", Runs: "v1.35.4", Pools: []string{"a=", "new=v1.35.4", "old=v1.34.2"}, Machines: []string{"a-v1-35-4", "new-v1-35-4", "old-v1-34-2"}, Backups: 1,
		Steps: []string{
			"Done Preflight", "Done Backup", "Done Node pool a v1.35.4", "Done Node pool new v1.35.4", "Done Control plane as v1.35", "Done Control plane v1.35.4",
		},
		Conditions: []string{
			"BackedUp=True UpgradeStepDone", "Planned=True UpgradeStepDone", "PreflightPassed=True UpgradeStepDone", "Ready=True Ready",
			"Reconciling=False Idle", "Stalled=False Idle", "Upgraded=True UpgradeStepDone",
		},
		Finalizers: []string{"kqueen.io/upgrade"}, Completed: true, FromVersion: "v1.36.3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRollbackRefused(t *testing.T) {
	for name, c := range map[string]struct{ to, want string }{
		"Newer":      {"v1.37.2", `spec.version: "v1.37.2" is not older than "v1.36.3"`},
		"Same":       {"v1.36.3", `spec.version: "v1.36.3" is not older than "v1.36.3"`},
		"TwoMinors":  {"v1.34.2", "spec.version: v1.36.3 to v1.34.2 goes back by more than one minor version: go back to v1.35.x first"},
		"NoPrograms": {"v1.35.9", "build it with: kqueen release build v1.35.9"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlaceAt(t, "v1.36.3")
			u := p.upgrade(t, "back", c.to, back)
			p.settle(t, u)
			if got := says(u); !strings.HasPrefix(got, "False "+v1alpha1.ReasonUpgradeRefused) || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

const policy = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy"}`

// TestRollbackBlocked: what only the newer minor knows keeps a rollback from beginning; where it is stored after that, the control plane
// is not lowered, and goes on as before when the rollback is deleted.
func TestRollbackBlocked(t *testing.T) {
	const says1 = "MutatingAdmissionPolicy m: it is stored as admissionregistration.k8s.io/v1, which came with v1.36: v1.35 can neither read nor delete it"
	t.Run("Before", func(t *testing.T) {
		p := newPlaceAt(t, "v1.36.3", "a")
		p.stored = map[string]string{"mutatingadmissionpolicies/m": policy}
		u := p.upgrade(t, "back", "v1.35.4", back)
		p.settle(t, u)
		got, err := p.snapshot(t.Context(), u)
		if err != nil || !strings.Contains(says(u), "UpgradeBlocked: 1 finding against the upgrade: NewerObjects: "+says1) || got.Spec != "v1.36.3" || got.Backups > 0 {
			t.Errorf("%s: %+v, %v", says(u), got, err)
		}
		p.change(t, u, func(s *v1alpha1.UpgradeSpec) { s.Ignore = []string{v1alpha1.CheckNewerObjects} })
		p.settle(t, u)
		if u.Status.CompletionTime == nil {
			t.Errorf("it does not go on: %s", says(u))
		}
	})
	t.Run("Meanwhile", func(t *testing.T) {
		p := newPlaceAt(t, "v1.36.3", "a")
		u := p.upgrade(t, "back", "v1.35.4", func(s *v1alpha1.UpgradeSpec) { s.Rollback, s.Backup = true, ptr.To(false) })
		r := p.reconciler(nil)
		for range 40 { // until it is to emulate the minor
			if _, err := r.Reconcile(t.Context(), requestFor(u)); err != nil {
				t.Fatal(err)
			}
			if cluster, _, err := p.both(t.Context()); err != nil || cluster.Spec.EmulatedVersion != "" {
				break
			}
			if _, err := p.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		p.stored = map[string]string{"mutatingadmissionpolicies/m": policy}
		p.settle(t, u)
		got, err := p.snapshot(t.Context(), u)
		if err != nil || !strings.Contains(says(u), "NewerObjects: "+says1) || got.Spec != "v1.36.3" || got.Emulates != "v1.35v1.35" {
			t.Errorf("%s: %+v, %v", says(u), got, err)
		}
		if err := p.client.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		p.settle(t, u)
		for range 4 {
			if _, err := p.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := end{Spec: "v1.36.3", Runs: "v1.36.3", Pools: []string{"a=v1.35.4"}, Machines: []string{"a-v1-35-4"}}
		if got, err := p.snapshot(t.Context(), u); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v, -want +got:\n%s", err, cmp.Diff(want, got))
		}
	})
}

// TestNewer: what Kubernetes itself says of its APIs decides, and nothing is said of other APIs.
func TestNewer(t *testing.T) {
	p := newPlaceAt(t, "v1.36.3")
	p.stored = map[string]string{
		"configmaps/shop/a":             `{"apiVersion":"v1","kind":"ConfigMap"}`,
		"secrets/shop/a":                "k8s:enc:secretbox:v1:x",
		"deployments/shop/a":            `{"apiVersion":"apps/v1","kind":"Deployment"}`,
		"example.com/widgets/shop/a":    `{"apiVersion":"example.com/v9","kind":"Widget"}`,
		"mutatingadmissionpolicies/m1":  policy,
		"mutatingadmissionpolicies/m2":  policy,
		"mutatingadmissionpolicies/old": `{"apiVersion":"admissionregistration.k8s.io/v1beta1","kind":"MutatingAdmissionPolicy"}`,
		"pods/shop/odd":                 `{"apiVersion":"apps/v99","kind":"Deployment"}`,
		"pods/shop/torn":                "x",
	}
	plane := &v1alpha1.ControlPlane{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "demo"}, plane); err != nil {
		t.Fatal(err)
	}
	found, err := Config{Stored: p.storedOf}.newerObjects(t.Context(), plane, "v1.35.4")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, f := range newerFindings(found, "v1.35") {
		got = append(got, f.Severity+" "+f.Object+": "+f.Message)
	}
	want := []string{
		"Blocks MutatingAdmissionPolicy m1: it and 1 more is stored as admissionregistration.k8s.io/v1, which came with v1.36: v1.35 can neither read nor delete it",
		"Warns Deployment shop/odd: it is stored as apps/v99, of which it is not known whether v1.35 has it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRollbackOfNodes: a node that no pool takes back stands against it, when it would be newer than the API server.
func TestRollbackOfNodes(t *testing.T) {
	f := Facts{
		Wanted: Wanted{From: version(t, "v1.36.3"), To: version(t, "v1.35.4"), Rollback: true, Releases: known(t, "v1.35.4"), Pools: []Pool{{Name: "web"}}},
		Seen: Seen{Nodes: []Node{
			{Name: "n1", Pool: "web", Kubelet: "v1.36.3", Ready: true}, {Name: "n2", Kubelet: "v1.36.3", Ready: true}, {Name: "n3", Kubelet: "v1.34.1", Ready: true},
		}},
		LastBackup: "monday",
	}
	f.Steps = planOf(t, f.Wanted)
	got := []string{}
	for _, found := range Check(f) {
		got = append(got, found.Severity+" "+found.Check+" "+found.Object+": "+found.Message)
	}
	if diff := cmp.Diff([]string{"Blocks VersionSkew Node n2: kubelet v1.36.3 is too new for the API server's v1.35.4"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
