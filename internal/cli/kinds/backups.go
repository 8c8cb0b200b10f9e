package kinds

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// BackupStore is where backups are kept.
var BackupStore = &Kind{
	Kind: "BackupStore", Singular: "backupstore", Plural: "backupstores",
	Object: func() client.Object { return &v1alpha1.BackupStore{} },
	columns: []Column{
		{Name: "Place", Value: of(func(s *v1alpha1.BackupStore) string { return s.Place() })},
		readyColumn,
		reasonColumn,
		MessageColumn,
		ageColumn,
	},
	None: "backupstore create NAME --directory PATH",
}

// Backup is the state of a cluster at one moment.
var Backup = &Kind{
	Kind: "Backup", Singular: "backup", Plural: "backups",
	Object: func() client.Object { return &v1alpha1.Backup{} },
	columns: []Column{
		{Name: "Cluster", Value: of(func(b *v1alpha1.Backup) string { return b.Spec.ClusterName })},
		readyColumn,
		reasonColumn,
		{Name: "Taken", Value: of(func(b *v1alpha1.Backup) string { return ageOf(b.Status.TakenTime) })},
		{Name: "Size", Value: of(func(b *v1alpha1.Backup) string { return Bytes(b.Status.Size) })},
		{Name: "Version", Wide: true, Value: of(func(b *v1alpha1.Backup) string { return b.Status.Version })},
		MessageColumn,
		ageColumn,
	},
	None: "backup create NAME --cluster CLUSTER",
}

// BackupSchedule takes backups of a cluster at times.
var BackupSchedule = &Kind{
	Kind: "BackupSchedule", Singular: "backupschedule", Plural: "backupschedules",
	Object: func() client.Object { return &v1alpha1.BackupSchedule{} },
	columns: []Column{
		{Name: "Cluster", Value: of(func(s *v1alpha1.BackupSchedule) string { return s.Spec.ClusterName })},
		{Name: "Schedule", Value: of(func(s *v1alpha1.BackupSchedule) string { return s.Spec.Schedule })},
		readyColumn,
		reasonColumn,
		{Name: "Last", Value: of(func(s *v1alpha1.BackupSchedule) string { return ageOf(s.Status.LastTakenTime) })},
		{Name: "Backups", Value: of(func(s *v1alpha1.BackupSchedule) string { return strconv.Itoa(int(s.Status.Backups)) })},
		MessageColumn,
		ageColumn,
	},
	None: "backupschedule create NAME --cluster CLUSTER --schedule @daily",
}

// Restore brings a cluster back to a backup.
var Restore = &Kind{
	Kind: "Restore", Singular: "restore", Plural: "restores",
	Object: func() client.Object { return &v1alpha1.Restore{} },
	columns: []Column{
		{Name: "Cluster", Value: of(func(r *v1alpha1.Restore) string { return r.Status.ClusterName })},
		{Name: "Backup", Value: of(func(r *v1alpha1.Restore) string { return r.Spec.BackupName })},
		readyColumn,
		reasonColumn,
		{Name: "Completed", Value: of(func(r *v1alpha1.Restore) string { return ageOf(r.Status.CompletionTime) })},
		MessageColumn,
		ageColumn,
	},
	None: "restore create NAME --backup BACKUP",
}

func ageOf(moment *metav1.Time) string {
	if moment == nil {
		return ""
	}
	return Age(moment.Time)
}

// Bytes is an amount in the unit of which there is at least one, or nothing.
func Bytes(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	n, unit := q.Value(), ""
	for _, next := range []string{"Ki", "Mi", "Gi"} {
		if n < 10<<10 {
			break
		}
		n, unit = n>>10, next
	}
	return resource.NewQuantity(n, resource.DecimalSI).String() + unit
}
