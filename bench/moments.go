package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	besideMoments = "restores to moments"
	actOfMoment   = "restore of a moment, its backup included"
	// momentWrites are made to momentObjects of a cluster, and moments of that time are restored, in momentRounds.
	momentWrites, momentObjects, moments, momentRounds = 1000, 50, 20, 4
	// afterRestores is the time after the last restore before the other tenant counts as alone.
	afterRestores = 10 * time.Second
)

// momentsResult is what restores of a small cluster to moments do to another tenant.
type momentsResult struct {
	// Seconds of each restore.
	Seconds []float64 `json:"seconds"`
	// Alone and Beside are the calls of the other tenant.
	Alone  apiTimes `json:"alone"`
	Beside apiTimes `json:"beside"`
}

// restoreMoments restores a small cluster to moments of the time in which it was written to, one after the other, in rounds: before each of
// them another tenant is measured alone for a time, and beside them.
func restoreMoments(ctx context.Context, inst *installation, alone time.Duration) (r momentsResult, err error) {
	b, err := newBackupBench(ctx, inst, "small")
	if err != nil {
		return r, err
	}
	if err := b.recordOf(ctx, "small"); err != nil {
		return r, err
	}
	times, err := writeAtRandom(ctx, b.maps)
	if err != nil {
		return r, err
	}
	for round := range slices.Chunk(times, moments/momentRounds) {
		select {
		case <-time.After(afterRestores):
		case <-ctx.Done():
			return r, ctx.Err()
		}
		if err := b.other.aloneFor(ctx, alone); err != nil {
			return r, err
		}
		err := b.other.beside(ctx, besideMoments, func(ctx context.Context) error {
			for _, at := range round {
				if err := b.restoreMoment(ctx, metav1.NewTime(at)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return r, err
		}
	}
	r = momentsResult{Seconds: b.seconds[actOfMoment], Alone: b.other.times[besideAlone], Beside: b.other.times[besideMoments]}
	return r, inst.deleteAll(ctx, []string{"bystander", "small"})
}

// writeAtRandom creates, changes and deletes objects, and returns moments of that time, to the second.
func writeAtRandom(ctx context.Context, maps corev1client.ConfigMapInterface) ([]time.Time, error) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same writes each time
	var times []time.Time
	there := map[string]bool{}
	for n := range momentWrites {
		name := fmt.Sprintf("moment-%d", random.IntN(momentObjects))
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"n": strconv.Itoa(n)}}
		var err error
		switch {
		case !there[name]:
			_, err = maps.Create(ctx, object, metav1.CreateOptions{})
			there[name] = true
		case random.IntN(5) == 0:
			err = maps.Delete(ctx, name, metav1.DeleteOptions{})
			there[name] = false
		default:
			_, err = maps.Update(ctx, object, metav1.UpdateOptions{})
		}
		if err != nil {
			return nil, err
		}
		if n%(momentWrites/moments) == 0 {
			times = append(times, time.Now().Truncate(time.Second))
		}
	}
	random.Shuffle(len(times), func(i, j int) { times[i], times[j] = times[j], times[i] })
	return times, nil
}

// restoreMoment does what "kqueen restore create --at" does.
func (b *backupBench) restoreMoment(ctx context.Context, at metav1.Time) error {
	begin := time.Now()
	b.n++
	name := fmt.Sprintf("m%d", b.n)
	of := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.BackupSpec{ClusterName: "small", AsOfTime: &at}}
	of.SetNamespace(namespace)
	if err := b.inst.admin.Create(ctx, of); err != nil {
		return err
	}
	rs := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RestoreSpec{BackupName: name}}
	if err := b.made(ctx, "restore of a moment", rs, unseen); err != nil {
		return err
	}
	b.took(actOfMoment, begin)
	return client.IgnoreNotFound(b.inst.admin.Delete(ctx, rs))
}

func (r *momentsResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nANOTHER TENANT MEANWHILE\tcalls\tp50\tp99\tRATIO to alone p50\tp99\n")
	for _, part := range []struct {
		name  string
		times apiTimes
	}{{besideAlone, r.Alone}, {fmt.Sprintf("%d %s, %.1fs each, %.1fs at most", len(r.Seconds), besideMoments, median(r.Seconds), slices.Max(r.Seconds)), r.Beside}} {
		for _, call := range []string{neighbourGet, neighbourUpdate} {
			fmt.Fprintf(w, "%s: %s\t%d\t%.1fms\t%.1fms\t%.2f\t%.2f\n", part.name, call, len(part.times[call]), 1000*median(part.times[call]),
				1000*p99(part.times[call]), median(part.times[call])/median(r.Alone[call]), p99(part.times[call])/p99(r.Alone[call]))
		}
	}
	_ = w.Flush()
}
