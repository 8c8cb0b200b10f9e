package upgrade

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// says is what the condition Ready of an upgrade says.
func says(u *v1alpha1.Upgrade) string {
	c := apimeta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// change changes the spec of an upgrade.
func (p *place) change(t *testing.T, u *v1alpha1.Upgrade, change func(*v1alpha1.UpgradeSpec)) {
	t.Helper()
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	change(&u.Spec)
	if err := p.client.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

// TestUpgrade says in words what the runs under faults are compared with.
func TestUpgrade(t *testing.T) {
	p := newPlace(t, "a", "b", "own=v1.34.2")
	u := p.upgrade(t, "up", "v1.37.2", nil)
	p.settle(t, u)
	got, err := p.snapshot(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	want := end{
		Spec: "v1.37.2", Runs: "v1.37.2", Pools: []string{"a=", "b=", "own=v1.34.2"}, Machines: []string{"a-v1-37-2", "b-v1-37-2", "own-v1-34-2"}, Backups: 1,
		Steps: []string{
			"Done Preflight", "Done Backup", "Done Control plane v1.36.3", "Done Control plane v1.37.2", "Done Node pool a v1.37.2", "Done Node pool b v1.37.2",
		},
		Conditions: []string{
			"BackedUp=True UpgradeStepDone", "Planned=True UpgradeStepDone", "PreflightPassed=True UpgradeStepDone", "Ready=True Ready",
			"Reconciling=False Idle", "Stalled=False Idle", "Upgraded=True UpgradeStepDone",
		},
		Finalizers: []string{"kqueen.io/upgrade"}, Completed: true, FromVersion: "v1.35.4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	again := p.upgrade(t, "again", "v1.37.2", nil)
	p.settle(t, again)
	if got := says(again); !strings.HasPrefix(got, "True Ready") || len(again.Status.Steps) > 0 {
		t.Errorf("where there is nothing to do: %s", got)
	}
}

// TestOwnVersionIsRaised: a version of a pool's own goes as far as it must, and no further.
func TestOwnVersionIsRaised(t *testing.T) {
	p := newPlace(t, "own=v1.33.2")
	u := p.upgrade(t, "up", "v1.37.2", func(s *v1alpha1.UpgradeSpec) { s.Backup = ptr.To(false) })
	p.settle(t, u)
	got, err := p.snapshot(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"own=v1.36.3"}, got.Pools); diff != "" || !got.Completed || got.Backups != 0 || len(got.Wrong) > 0 {
		t.Errorf("%+v: -want +got:\n%s", got, diff)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.UpgradeSpec)
		want   string
	}{
		"NoCluster": {func(s *v1alpha1.UpgradeSpec) { s.ClusterName = "other" }, "spec.clusterName: there is no cluster other"},
		"Downgrade": {func(s *v1alpha1.UpgradeSpec) { s.Version = "v1.35.1" }, "spec.version: v1.35.1 is older than v1.35.4: stay at v1.35.4 or choose a newer version; to go back use: kqueen cluster rollback"},
		"NoRelease": {func(s *v1alpha1.UpgradeSpec) { s.Version = "v1.37.9" }, "build it with: kqueen release build v1.37.9"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			u := p.upgrade(t, "up", "v1.36.3", c.change)
			p.settle(t, u)
			if got := says(u); !strings.HasPrefix(got, "False "+v1alpha1.ReasonUpgradeRefused) || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if left, err := p.annotations(t.Context()); err != nil || len(left) > 0 {
				t.Errorf("it has taken the cluster: %v, %v", left, err)
			}
		})
	}
}

// TestBlocked: an upgrade that something stands against changes nothing, and goes on when that is mended or ignored.
func TestBlocked(t *testing.T) {
	for name, mend := range map[string]func(*place, *v1alpha1.Upgrade){
		"Mended": func(p *place, _ *v1alpha1.Upgrade) {
			if p.unseen == nil { // a cluster that could not be looked at is looked at again before that
				p.now = p.now.Add(lookAgain)
			}
			p.seen, p.unseen = Seen{}, nil
		},
		"Ignored": func(p *place, u *v1alpha1.Upgrade) {
			p.change(t, u, func(s *v1alpha1.UpgradeSpec) {
				s.Ignore = []string{v1alpha1.CheckNodesReady, v1alpha1.CheckClusterReadable}
			})
		},
	} {
		for what, breaks := range map[string]func(*place){
			"NodeNotReady": func(p *place) { p.seen = Seen{Nodes: []Node{{Name: "n", Kubelet: "v1.35.4"}}} },
			"NoAnswer":     func(p *place) { p.unseen = errors.New("connection refused") },
		} {
			t.Run(name+what, func(t *testing.T) {
				p := newPlace(t)
				breaks(p)
				u := p.upgrade(t, "up", "v1.36.3", nil)
				p.settle(t, u)
				got, err := p.snapshot(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(says(u), "False "+v1alpha1.ReasonUpgradeBlocked+": 1 finding against the upgrade: ") || got.Spec != "v1.35.4" || got.Backups > 0 || len(u.Status.Findings) != 1 {
					t.Errorf("%s: %+v", says(u), got)
				}
				mend(p, u)
				p.settle(t, u)
				if u.Status.CompletionTime == nil {
					t.Errorf("it does not go on: %s", says(u))
				}
			})
		}
	}
}

// TestPaused: no step begins while an upgrade is paused, and all go on after it.
func TestPaused(t *testing.T) {
	p := newPlace(t, "a")
	u := p.upgrade(t, "up", "v1.36.3", func(s *v1alpha1.UpgradeSpec) { s.Paused = true })
	p.settle(t, u)
	if got, err := p.snapshot(t.Context(), u); err != nil || got.Spec != "v1.35.4" || got.Backups > 0 || !strings.HasPrefix(says(u), "False "+v1alpha1.ReasonUpgradePaused) {
		t.Errorf("%s: %+v, %v", says(u), got, err)
	}
	p.change(t, u, func(s *v1alpha1.UpgradeSpec) { s.Paused = false })
	p.settle(t, u)
	if u.Status.CompletionTime == nil {
		t.Errorf("it does not go on: %s", says(u))
	}
}

// TestOneAtATime: a second upgrade of a cluster waits for the first, and says its name.
func TestOneAtATime(t *testing.T) {
	p := newPlace(t)
	first := p.upgrade(t, "first", "v1.36.3", func(s *v1alpha1.UpgradeSpec) { s.Paused = true })
	p.settle(t, first)
	second := p.upgrade(t, "second", "v1.37.2", nil)
	p.settle(t, second)
	if got := says(second); !strings.HasPrefix(got, "False "+v1alpha1.ReasonUpgradeWaiting+": upgrade first of the cluster goes first") {
		t.Error(got)
	}
	if err := p.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	p.settle(t, first)
	p.settle(t, second)
	if second.Status.CompletionTime == nil {
		t.Errorf("it does not go on: %s", says(second))
	}
}

// TestAbort: an upgrade that is deleted while its control plane does not come up goes back, and one that is deleted later keeps what is done.
func TestAbort(t *testing.T) {
	t.Run("ControlPlaneStarts", func(t *testing.T) {
		p := newPlace(t, "a")
		p.slow = 1000
		u := p.upgrade(t, "up", "v1.36.3", nil)
		p.settle(t, u)
		if got := says(u); !strings.Contains(got, "the control plane goes to v1.36.3: the API server starts") {
			t.Error(got)
		}
		if err := p.client.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		p.settle(t, u)
		want := end{Spec: "v1.35.4", Runs: "v1.35.4", Pools: []string{"a="}, Machines: []string{"a-v1-35-4"}, Backups: 1}
		if got, err := p.snapshot(t.Context(), u); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v, -want +got:\n%s", err, cmp.Diff(want, got))
		}
	})
	t.Run("ControlPlaneIsThere", func(t *testing.T) {
		p := newPlace(t, "a", "b")
		u := p.upgrade(t, "up", "v1.36.3", nil)
		r := p.reconciler(nil)
		for range 40 { // until the control plane has the version
			if _, err := r.Reconcile(t.Context(), requestFor(u)); err != nil {
				t.Fatal(err)
			}
			if _, err := p.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, plane, err := p.both(t.Context()); err != nil || plane.Status.Version == "v1.36.3" {
				break
			}
		}
		if err := p.client.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		p.settle(t, u)
		want := end{Spec: "v1.36.3", Runs: "v1.36.3", Pools: []string{"a=v1.35.4", "b=v1.35.4"}, Machines: []string{"a-v1-35-4", "b-v1-35-4"}, Backups: 1}
		if got, err := p.snapshot(t.Context(), u); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v, -want +got:\n%s", err, cmp.Diff(want, got))
		}
	})
}
