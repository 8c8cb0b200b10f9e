package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	besideMomentsAlone = "beside nothing, before and after"
	besideMoments      = "a small cluster restored to 20 moments"
	actOfMoment        = "restore of a moment, its backup included"
	// momentWrites are made to momentObjects of a cluster, and moments of that time are restored.
	momentWrites, momentObjects, moments = 1000, 50, 20
	// afterRestores is the time after the last restore before the other tenant counts as alone.
	afterRestores = 10 * time.Second
)

// moments restores a small cluster to moments of the time in which it was written to, one after the other, beside the other tenant.
func (b *backupBench) moments(ctx context.Context, alone time.Duration) error {
	path, err := tenantCluster(ctx, b.inst, "small")
	if err != nil {
		return err
	}
	maps, err := configMaps(path)
	if err != nil {
		return err
	}
	if err := b.recordOf(ctx, "small"); err != nil {
		return err
	}
	times, err := writeAtRandom(ctx, maps)
	if err != nil {
		return err
	}
	b.other.during(besideMomentsAlone)
	if err := b.other.measure(ctx, alone); err != nil {
		return err
	}
	err = b.other.beside(ctx, besideMoments, func(ctx context.Context) error {
		for n, at := range times {
			if err := b.restoreMoment(ctx, fmt.Sprintf("m%d", n), metav1.NewTime(at)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case <-time.After(afterRestores):
	case <-ctx.Done():
		return ctx.Err()
	}
	b.other.during(besideMomentsAlone)
	return b.other.measure(ctx, alone)
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
func (b *backupBench) restoreMoment(ctx context.Context, name string, at metav1.Time) error {
	begin := time.Now()
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
