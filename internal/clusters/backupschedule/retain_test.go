package backupschedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// taken is a backup that was taken at a time, which is its name.
func taken(t testing.TB, when string) v1alpha1.Backup {
	moment := metav1.NewTime(at(t, when))
	return v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{Name: when},
		Status:     v1alpha1.BackupStatus{ClusterUID: "now", Digest: "sha256:1", TakenTime: &moment},
	}
}

func TestSurplus(t *testing.T) {
	twoWeeks := func(t *testing.T) []v1alpha1.Backup {
		var all []v1alpha1.Backup
		for day := range 14 { // from Monday on, at noon
			all = append(all, taken(t, at(t, "2026-11-02 12:00").AddDate(0, 0, day).Format("2006-01-02 15:04")))
		}
		return all
	}
	for name, c := range map[string]struct {
		keep  v1alpha1.BackupRetention
		zone  string
		all   func(t *testing.T) []v1alpha1.Backup
		spoil func(all []v1alpha1.Backup)
		want  string // the days that are left
	}{
		"Last":     {keep: v1alpha1.BackupRetention{KeepLast: 3}, want: "13 14 15"},
		"Nothing":  {keep: v1alpha1.BackupRetention{}, want: "15"},
		"Weekly":   {keep: v1alpha1.BackupRetention{KeepWeekly: 2}, want: "08 15"},
		"Monthly":  {keep: v1alpha1.BackupRetention{KeepMonthly: 12}, want: "15"},
		"AnyRule":  {keep: v1alpha1.BackupRetention{KeepLast: 2, KeepDaily: 4, KeepWeekly: 9}, want: "08 12 13 14 15"},
		"MoreThan": {keep: v1alpha1.BackupRetention{KeepLast: 100}, want: "02 03 04 05 06 07 08 09 10 11 12 13 14 15"},
		"Damaged": {keep: v1alpha1.BackupRetention{KeepLast: 1}, want: "14 15", spoil: func(all []v1alpha1.Backup) {
			all[13].Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonBackupDamaged}}
		}},
		"NotTaken":       {keep: v1alpha1.BackupRetention{KeepLast: 1}, want: "14 15", spoil: func(all []v1alpha1.Backup) { all[13].Status.Digest = "" }},
		"BeingDeleted":   {keep: v1alpha1.BackupRetention{KeepLast: 1}, want: "14 15", spoil: func(all []v1alpha1.Backup) { now := metav1.Now(); all[13].DeletionTimestamp = &now }},
		"EarlierCluster": {keep: v1alpha1.BackupRetention{KeepLast: 1}, want: "02 15", spoil: func(all []v1alpha1.Backup) { all[0].Status.ClusterUID = "then" }},
		"DayOfItsZone": {keep: v1alpha1.BackupRetention{KeepDaily: 2}, zone: "Europe/Prague", all: func(t *testing.T) []v1alpha1.Backup {
			// Half past midnight of the 4th in Prague, and noon of the 4th: one day.
			return []v1alpha1.Backup{taken(t, "2026-11-02 11:00"), taken(t, "2026-11-03 23:30"), taken(t, "2026-11-04 11:00")}
		}, want: "02 04"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.all == nil {
				c.all = twoWeeks
			}
			all := c.all(t)
			if c.spoil != nil {
				c.spoil(all)
			}
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			gone := map[string]bool{}
			for _, b := range Surplus(all, "now", c.keep, zone) {
				gone[b.Name] = true
			}
			var left []string
			for _, b := range all {
				if !gone[b.Name] {
					left = append(left, b.Name[8:10])
				}
			}
			if diff := cmp.Diff(strings.Fields(c.want), left); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
