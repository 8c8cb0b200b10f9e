package backupschedule

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Surplus are the backups that are not kept, the oldest first: of whole ones of one cluster those that no rule names. It is pure.
func Surplus(all []v1alpha1.Backup, clusterUID string, keep v1alpha1.BackupRetention, zone *time.Location) []v1alpha1.Backup {
	var whole []v1alpha1.Backup
	for i := range all {
		if isWhole(&all[i]) && all[i].Status.ClusterUID == clusterUID {
			whole = append(whole, all[i])
		}
	}
	slices.SortFunc(whole, func(a, b v1alpha1.Backup) int {
		return cmp.Or(b.Status.TakenTime.Compare(a.Status.TakenTime.Time), cmp.Compare(b.Name, a.Name))
	})
	rules := []*rule{
		{left: max(keep.KeepLast, 1)},
		{left: keep.KeepDaily, period: func(t time.Time) string { return t.Format(time.DateOnly) }},
		{left: keep.KeepWeekly, period: week},
		{left: keep.KeepMonthly, period: func(t time.Time) string { return t.Format("2006-01") }},
	}
	var surplus []v1alpha1.Backup
	for i := range whole {
		kept := false
		for _, r := range rules {
			// Each is asked: one backup may be the newest of a day and of a month.
			kept = r.keeps(whole[i].Status.TakenTime.In(zone)) || kept
		}
		if !kept {
			surplus = append(surplus, whole[i])
		}
	}
	slices.Reverse(surplus)
	return surplus
}

// isWhole says whether a backup can be restored, as far as is known. One that is being deleted does not count.
func isWhole(b *v1alpha1.Backup) bool {
	verified := apimeta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	damaged := verified != nil && verified.Reason == v1alpha1.ReasonBackupDamaged
	return b.IsTaken() && b.Status.TakenTime != nil && !damaged && b.DeletionTimestamp.IsZero()
}

// rule keeps the newest backup of each of so many periods, or so many backups where there is no period. Backups are asked about from the
// newest on.
type rule struct {
	left   int32
	period func(time.Time) string
	last   string
}

func (r *rule) keeps(taken time.Time) bool {
	if r.left <= 0 {
		return false
	}
	if r.period != nil {
		at := r.period(taken)
		if at == r.last {
			return false
		}
		r.last = at
	}
	r.left--
	return true
}

func week(t time.Time) string {
	year, n := t.ISOWeek()
	return strconv.Itoa(year) + "-" + strconv.Itoa(n)
}
