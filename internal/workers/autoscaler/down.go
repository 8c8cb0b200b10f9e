package autoscaler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations of pods and nodes by which users keep nodes, as the cluster-autoscaler of Kubernetes has them.
const (
	annotationSafe         = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	annotationSafeVolumes  = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	annotationKeptByUser   = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	namespaceOfKubernetes  = "kube-system"
	valueTrue, valueFalse  = "true", "false"
	reasonPoolAtLeast      = "the pool has as few machines as it may have (minReplicas %d)"
	reasonUnderStartup     = "it is not ready"
	reasonAnnotated        = "its annotation " + annotationKeptByUser + " keeps it"
	reasonPodWaits         = "pod %s waits and has a place here"
	reasonPodUncontrolled  = "pod %s has no controller that would run it elsewhere"
	reasonPodUnsafe        = "pod %s must not be evicted, by its annotation " + annotationSafe
	reasonPodLocalStorage  = "pod %s has data on the node, in its volume %s"
	reasonPodOfKubernetes  = "pod %s is of kube-system and has no PodDisruptionBudget"
	reasonPodBudget        = "pod %s may not leave now, by the PodDisruptionBudget %s"
	reasonPodFitsNoOther   = "pod %s has no place on another node"
	reasonAnotherGoesFirst = "not needed since %s; another node goes first"
	reasonGoes             = "not needed since %s; its machine goes"
	reasonIdle             = "not needed since %s; its machine goes after %s"
)

// judgement is what is known of a node of a pool that scales.
type judgement struct {
	on *slot
	// stays is why it stays; empty when it is not needed.
	stays string
	// moves is how many pods have to go elsewhere, and since is from when on it was not needed.
	moves int
	since time.Time
}

// judge says of each node of the pools that scale why it stays, or since when it is not needed.
func (s *simulation) judge(needed bool, idle map[types.UID]time.Time, now time.Time) []judgement {
	var out []judgement
	for _, on := range s.slots {
		if on.pool == nil || !on.pool.Scales || on.machine.Name == "" || on.machine.Leaving {
			continue
		}
		j := judgement{on: on, since: now}
		j.stays, j.moves = s.whyStays(on, needed)
		if since, ok := idle[on.machine.UID]; ok && since.Before(now) {
			j.since = since
		}
		out = append(out, j)
	}
	return out
}

// whyStays says why a node stays, and how many pods go elsewhere when it goes.
func (s *simulation) whyStays(on *slot, needed bool) (why string, moves int) {
	switch {
	case on.pool.Replicas <= on.pool.Min:
		return fmt.Sprintf(reasonPoolAtLeast, on.pool.Min), 0
	case on.kind != there:
		return reasonUnderStartup, 0
	case on.node.Annotations[annotationKeptByUser] == valueTrue:
		return reasonAnnotated, 0
	case on.keeps != nil && (needed || !on.keeps.addon):
		return fmt.Sprintf(reasonPodWaits, clean(on.keeps.String())), 0
	}
	var leave []*load
	for _, l := range on.pods {
		// Where nothing else runs the addons need no node.
		if stays(l.Pod) || l.addon && !needed || l.DeletionTimestamp != nil {
			continue
		}
		if why := s.whyPodStays(l); why != "" {
			return why, 0
		}
		leave = append(leave, l)
	}
	return s.whyNowhere(leave, on), len(leave)
}

// whyPodStays says why a pod may not be moved from its node; empty when it may.
func (s *simulation) whyPodStays(l *load) string {
	name, said := clean(l.String()), l.Annotations[annotationSafe]
	var budget *Budget
	for i := range s.seen.Budgets {
		if b := &s.seen.Budgets[i]; b.has(l.Pod) {
			if b.Allowed <= 0 {
				return fmt.Sprintf(reasonPodBudget, name, clean(b.Name))
			}
			budget = b
		}
	}
	switch volume := localVolume(l.Pod); {
	case said == valueFalse:
		return fmt.Sprintf(reasonPodUnsafe, name)
	case said == valueTrue || l.addon:
		return ""
	case metav1.GetControllerOf(l.Pod) == nil:
		return fmt.Sprintf(reasonPodUncontrolled, name)
	case volume != "":
		return fmt.Sprintf(reasonPodLocalStorage, name, clean(volume))
	case l.Namespace == namespaceOfKubernetes && budget == nil:
		return fmt.Sprintf(reasonPodOfKubernetes, name)
	}
	return ""
}

// localVolume is a volume of a pod that is lost when it leaves its node; empty when there is none.
func localVolume(p *corev1.Pod) string {
	safe := strings.Split(p.Annotations[annotationSafeVolumes], ",")
	for _, v := range p.Spec.Volumes {
		local := v.HostPath != nil || v.EmptyDir != nil && v.EmptyDir.Medium != corev1.StorageMediumMemory
		if local && !slices.Contains(safe, v.Name) {
			return v.Name
		}
	}
	return ""
}

// whyNowhere says which pod of a node has no place on another one; empty when all have.
func (s *simulation) whyNowhere(leave []*load, on *slot) (why string) {
	slices.SortFunc(leave, before)
	on.out = true
	var moved []*slot
	for _, l := range leave {
		to := s.find(l, there)
		if to == nil {
			why = fmt.Sprintf(reasonPodFitsNoOther, clean(l.String()))
			break
		}
		s.put(l, to)
		moved = append(moved, to)
	}
	for i, to := range slices.Backward(moved) {
		s.remove(leave[i], to)
	}
	on.out = false
	return why
}

// choose returns the node whose machine goes now: of those that were not needed for long enough the one that moves the fewest pods, or the
// one that was not needed first. It is nil when none goes.
func choose(all []judgement, now time.Time) *judgement {
	var best *judgement
	for i := range all {
		j := &all[i]
		if j.stays != "" || j.on.pool.Held != "" || now.Sub(j.since) < j.on.pool.Idle {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(j.moves, best.moves), j.since.Compare(best.since), cmp.Compare(j.on.node.Name, best.on.node.Name)) < 0 {
			best = j
		}
	}
	return best
}

// words says of a node that is not needed when it goes.
func (j *judgement) words(chosen *judgement, now time.Time) string {
	since := j.since.UTC().Format(time.RFC3339)
	switch {
	case j == chosen:
		return fmt.Sprintf(reasonGoes, since)
	case now.Sub(j.since) >= j.on.pool.Idle:
		return fmt.Sprintf(reasonAnotherGoesFirst, since)
	}
	return fmt.Sprintf(reasonIdle, since, j.on.pool.Idle)
}
