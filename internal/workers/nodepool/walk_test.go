package nodepool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// walk is a pool whose machines come, go, die and recover as chance wants.
type walk struct {
	*rand.Rand
	wish
	now      time.Time
	machines []v1alpha1.Machine
	made     int
}

// TestWalks: whatever happens to machines and spec, no single step breaks what the policies promise, and
// when nothing happens any more the pool gets where it shall be.
func TestWalks(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &walk{Rand: rand.New(rand.NewPCG(seed, 1)), wish: want(3), now: noon}
			w.pool.Spec.Health.MaxUnhealthy = ptr.To(intstr.FromString("100%"))
			for range 60 {
				w.happen()
				w.act(t)
			}
			for range 60 {
				w.settle()
				w.act(t)
			}
			d := plan(w.wish, w.machines, w.now)
			if !d.heal.say.done || !d.scale.say.done || !d.update.say.done || len(w.machines) != int(w.pool.Spec.Replicas) {
				t.Errorf("want %d machines and no more work, got %d: %s; %s; %s", w.pool.Spec.Replicas, len(w.machines), d.heal.say.message, d.scale.say.message, d.update.say.message)
			}
		})
	}
}

func rolls(surge, unavailable string) v1alpha1.RolloutPolicy {
	return v1alpha1.RolloutPolicy{MaxSurge: ptr.To(intstr.Parse(surge)), MaxUnavailable: ptr.To(intstr.Parse(unavailable))}
}

// happen lets something happen.
func (w *walk) happen() {
	w.now = w.now.Add(time.Duration(w.IntN(120)) * time.Second)
	switch w.IntN(12) {
	case 0:
		w.pool.Spec.Replicas = int32(w.IntN(7))
	case 1:
		w.version = []string{"v1.36.2", "v1.36.3", "v1.36.4"}[w.IntN(3)]
	case 2:
		w.pool.Spec.Rollout = [...]v1alpha1.RolloutPolicy{
			rolls("1", "0"), rolls("0", "1"), rolls("50%", "25%"), rolls("0", "10%"),
		}[w.IntN(4)]
	case 3:
		w.pool.Spec.Health.MaxUnhealthy = ptr.To(intstr.FromString([]string{"0%", "40%", "100%"}[w.IntN(3)]))
	}
	if len(w.machines) == 0 {
		return
	}
	at := w.IntN(len(w.machines))
	switch m := &w.machines[at]; w.IntN(6) {
	case 0, 1:
		w.join(m)
	case 2:
		if m.Status.JoinTime != nil {
			nodeIs(m, metav1.ConditionFalse, metav1.NewTime(w.now))
		}
	case 3:
		chosen(m)
	case 4:
		now := metav1.NewTime(w.now)
		m.DeletionTimestamp = &now
	case 5:
		if m.DeletionTimestamp != nil {
			w.machines = slices.Delete(w.machines, at, at+1)
		}
	}
}

// settle lets what is under way end well.
func (w *walk) settle() {
	w.now = w.now.Add(time.Minute)
	w.pool.Spec.Health.MaxUnhealthy = ptr.To(intstr.FromString("100%"))
	w.machines = slices.DeleteFunc(w.machines, func(m v1alpha1.Machine) bool { return m.DeletionTimestamp != nil })
	for i := range w.machines {
		w.join(&w.machines[i])
	}
}

func (w *walk) join(m *v1alpha1.Machine) {
	now := metav1.NewTime(w.now)
	m.Status.JoinTime = &now
	nodeIs(m, metav1.ConditionTrue, now)
}

// act does what the plan says, step by step as the reconciler does, and checks each.
func (w *walk) act(t *testing.T) {
	t.Helper()
	for n, pick := range []func(decision) step{func(d decision) step { return d.heal }, func(d decision) step { return d.scale }, func(d decision) step { return d.update }} {
		d := plan(w.wish, w.machines, w.now)
		before := members{wish: w.wish}
		for i := range w.machines {
			if w.machines[i].DeletionTimestamp == nil {
				before.live = append(before.live, &w.machines[i])
			}
		}
		bounds, s := before.bounds(), pick(d)
		readyBefore := int(count(before.live, ready))
		for _, m := range s.remove {
			now := metav1.NewTime(w.now)
			m.DeletionTimestamp = &now
		}
		after := only(before.live, func(m *v1alpha1.Machine) bool { return m.DeletionTimestamp == nil })
		total := len(after) + s.create
		lost := readyBefore - int(count(after, ready))
		switch {
		case n == 0 && lost > 0:
			t.Errorf("%d machines that are ready were given up for their health", lost)
		case n == 0 && s.create > 0:
			t.Errorf("machines are created for health")
		case s.create > 0 && total > bounds.most:
			t.Errorf("there are %d machines, and %d may be there", total, bounds.most)
		case n == 1 && total < bounds.wanted:
			t.Errorf("there are %d machines, and %d are wanted", total, bounds.wanted)
		case n == 1 && total > bounds.most:
			t.Errorf("scaling leaves %d machines, and %d may be there", total, bounds.most)
		case n == 2 && lost > 0 && int(count(after, ready)) < bounds.least:
			t.Errorf("an update leaves %d ready machines, and %d must be", count(after, ready), bounds.least)
		}
		for range s.create {
			w.made++
			m := made(fmt.Sprintf("m%d", w.made), func(m *v1alpha1.Machine) {
				m.Spec.Version, m.CreationTimestamp, m.Status = w.version, metav1.NewTime(w.now), v1alpha1.MachineStatus{}
			})
			w.machines = append(w.machines, m)
		}
	}
}
