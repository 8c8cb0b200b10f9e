package objects

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

func TestOperationOf(t *testing.T) {
	at := func(second int64) *time.Time { return new(time.Unix(second, 0).UTC()) }
	stamp := func(second int64) *metav1.Time { return new(metav1.NewTime(*at(second))) }
	meta := func(generation int64) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "x", UID: "u", Generation: generation, CreationTimestamp: *stamp(1)}
	}
	deleted := func(generation int64) metav1.ObjectMeta {
		m := meta(generation)
		m.DeletionTimestamp = stamp(50)
		return m
	}
	status := func(seen int64, next *metav1.Time, conditions ...metav1.Condition) v1alpha1.Status {
		return v1alpha1.Status{ObservedGeneration: seen, NextRetryTime: next, Conditions: conditions}
	}
	c := func(name string, is metav1.ConditionStatus, reason, message string, second int64) metav1.Condition {
		return metav1.Condition{Type: name, Status: is, Reason: reason, Message: message, LastTransitionTime: *stamp(second)}
	}
	working, retrying := c("Reconciling", "True", "Progressing", "more", 10), c("Reconciling", "True", "Retrying", "more", 10)
	idle := c("Reconciling", "False", "Idle", "", 10)
	stalled := c("Stalled", "True", "Refused", "no", 20)
	ready := c("Ready", "True", "Ready", "", 5)
	unready := func(reason, message string) metav1.Condition {
		return c("Ready", "False", reason, message, 5)
	}
	accepted, kubeconfig := c("Accepted", "True", "Accepted", "", 4), c("KubeconfigReady", "True", "KubeconfigPublished", "", 4)
	cluster := func(m metav1.ObjectMeta, s v1alpha1.Status, running string, steps ...v1alpha1.Step) *v1alpha1.Cluster {
		return &v1alpha1.Cluster{ObjectMeta: m, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}, Status: v1alpha1.ClusterStatus{Status: s, Version: running, Steps: steps}}
	}
	pool := func(m metav1.ObjectMeta, s v1alpha1.Status, want, have, isReady, updated int32) *v1alpha1.NodePool {
		return &v1alpha1.NodePool{
			ObjectMeta: m, Spec: v1alpha1.NodePoolSpec{ClusterName: "demo", Replicas: want},
			Status: v1alpha1.NodePoolStatus{Status: s, Replicas: have, ReadyReplicas: isReady, UpdatedReplicas: updated},
		}
	}
	// The answer in short: action state reason "message" since next done/total.
	for name, tc := range map[string]struct {
		object operator.Object
		want   string
	}{
		"ClusterNew":      {cluster(meta(1), status(0, nil), ""), `create Running Pending "its controller has not looked at it yet" 1 - 0/2`},
		"ClusterMaking":   {cluster(meta(1), status(1, nil, accepted, working, unready("Provisioning", "keys")), "", v1alpha1.Step{Done: true}, v1alpha1.Step{}), `create Running Provisioning "keys" 10 - 2/4`},
		"ClusterRetrying": {cluster(meta(1), status(1, stamp(99), accepted, retrying, unready("ProvisionerFailed", "no room")), ""), `create Retrying ProvisionerFailed "no room" 10 99 1/2`},
		"ClusterRefused":  {cluster(meta(1), status(1, nil, idle, stalled, unready("Refused", "no")), ""), `create Stalled Refused "no" 20 - 0/2`},
		"ClusterReady":    {cluster(meta(1), status(1, nil, accepted, kubeconfig, idle, ready), "v1.36.3"), ""},
		"ClusterUpgrade":  {cluster(meta(2), status(2, nil, accepted, kubeconfig, working, unready("Provisioning", "rolls")), "v1.35.1"), `upgrade Running Provisioning "rolls" 10 - 2/2`},
		"ClusterUnseen":   {cluster(meta(3), status(2, nil, accepted, kubeconfig, idle, ready), "v1.36.3"), `update Running Pending "its controller has not looked at it yet" - - 0/2`},
		"ClusterDegraded": {cluster(meta(1), status(1, nil, accepted, kubeconfig, working, unready("Degraded", "etcd")), "v1.36.3"), `update Running Degraded "etcd" 10 - 2/2`},
		"ClusterDeleting": {cluster(deleted(2), status(2, nil, c("Reconciling", "True", "Deleting", "workers", 51), unready("Deleting", "workers")), "v1.36.3"), `delete Running Deleting "workers" 50 - -`},
		"ClusterDeleted":  {cluster(deleted(2), status(1, nil, idle, ready), "v1.36.3"), `delete Running Deleting "" 50 - -`},
		"ClusterStuck":    {cluster(deleted(2), status(2, nil, idle, stalled, unready("Refused", "no")), "v1.36.3"), `delete Stalled Refused "no" 20 - -`},
		"PoolNew":         {pool(meta(1), status(1, nil, working, unready("Scaling", "0 of 3")), 3, 3, 0, 3), `create Running Scaling "0 of 3" 10 - 0/3`},
		"PoolScaling":     {pool(meta(2), status(2, nil, working, c("Scaled", "False", "Scaling", "2 of 3", 9), unready("Scaling", "2 of 3")), 3, 3, 2, 3), `scale Running Scaling "2 of 3" 10 - 2/3`},
		"PoolDown":        {pool(meta(3), status(3, nil, working, c("Scaled", "False", "Scaling", "3 of 1", 9), unready("Scaling", "3 of 1")), 1, 3, 3, 3), `scale Running Scaling "3 of 1" 10 - 1/1`},
		"PoolUpdating":    {pool(meta(2), status(2, nil, working, c("Updated", "False", "Updating", "1 of 3", 9), unready("Updating", "1 of 3")), 3, 4, 3, 1), `update Running Updating "1 of 3" 10 - 1/3`},
		"PoolReady":       {pool(meta(2), status(2, nil, idle, ready), 3, 3, 3, 3), ""},
		"MachineNew": {&v1alpha1.Machine{ObjectMeta: meta(1), Spec: v1alpha1.MachineSpec{ClusterName: "demo"}, Status: v1alpha1.MachineStatus{
			Status: status(1, nil, c("Bootstrapped", "True", "Bootstrapped", "", 3), working, unready("MachineCreating", "boots")),
		}}, `create Running MachineCreating "boots" 10 - 1/3`},
		"MachineLost": {&v1alpha1.Machine{ObjectMeta: meta(1), Spec: v1alpha1.MachineSpec{ClusterName: "demo"}, Status: v1alpha1.MachineStatus{
			JoinTime: stamp(7), Status: status(1, nil, working, c("Ready", "Unknown", "ClusterUnreachable", "gone", 9)),
		}}, `update Running ClusterUnreachable "gone" 10 - 0/3`},
		"UpgradeRuns": {&v1alpha1.Upgrade{ObjectMeta: meta(1), Spec: v1alpha1.UpgradeSpec{ClusterName: "demo"}, Status: v1alpha1.UpgradeStatus{
			Status: status(1, nil, working, unready("UpgradeStepRunning", "rolls")), Steps: []v1alpha1.UpgradeStep{{State: v1alpha1.StepDone}, {State: v1alpha1.StepPending}},
		}}, `upgrade Running UpgradeStepRunning "rolls" 10 - 1/2`},
		"UpgradeEnded":  {&v1alpha1.Upgrade{ObjectMeta: meta(1), Status: v1alpha1.UpgradeStatus{Status: status(1, nil, idle, ready)}}, ""},
		"RollbackStuck": {&v1alpha1.Upgrade{ObjectMeta: meta(1), Spec: v1alpha1.UpgradeSpec{Rollback: true}, Status: v1alpha1.UpgradeStatus{Status: status(1, nil, idle, stalled, unready("Refused", "no"))}}, `rollback Stalled Refused "no" 20 - 0/0`},
		"RotationWaits": {&v1alpha1.Rotation{ObjectMeta: meta(1), Status: v1alpha1.RotationStatus{
			Status: status(1, nil, c("NewTrusted", "True", "RotationStepDone", "", 3), working, unready("RotationWaiting", "finish")),
		}}, `rotate Running RotationWaiting "finish" 10 - 1/4`},
		"RestoreRuns": {&v1alpha1.Restore{ObjectMeta: meta(1), Status: v1alpha1.RestoreStatus{
			Status: status(1, nil, c("BackupWhole", "True", "RestoreDone", "", 3), working, unready("RestoreWriting", "writes")),
		}}, `restore Running RestoreWriting "writes" 10 - 1/5`},
		"BackupRetries":  {&v1alpha1.Backup{ObjectMeta: meta(1), Status: v1alpha1.BackupStatus{Status: status(1, stamp(99), retrying, unready("BackupFailed", "full"))}}, `backup Retrying BackupFailed "full" 10 99 -`},
		"RehearsalStuck": {&v1alpha1.Rehearsal{ObjectMeta: meta(1), Status: v1alpha1.RehearsalStatus{Status: status(1, nil, idle, stalled, unready("Refused", "no"))}}, `rehearse Stalled Refused "no" 20 - -`},
	} {
		if got := oneLine(operationOf("Kind", tc.object)); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

// oneLine is an operation on one line.
func oneLine(op *rest.Operation) string {
	if op == nil {
		return ""
	}
	encoded := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	second := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return encoded(t.Unix())
	}
	progress := "-"
	if op.Progress != nil {
		progress = encoded(op.Progress.Done) + "/" + encoded(op.Progress.Total)
	}
	return strings.Join([]string{op.Action, op.State, op.Reason, encoded(op.Message), second(op.LastTransitionAt), second(op.NextRetryAt), progress}, " ")
}
