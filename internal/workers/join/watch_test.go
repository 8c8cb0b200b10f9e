package join

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/internal/workers/machine"
)

func TestJudge(t *testing.T) {
	nodeThatIs := func(status corev1.ConditionStatus, message string) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Message: message}}}}
	}
	running := machine.Observed{State: machine.Running, Message: "all programs of the machine run"}
	failing := machine.Observed{State: machine.Failing, Message: "kubelet ended with code 1: boom"}
	creating := machine.Observed{State: machine.Creating, Message: "waiting for kubelet"}
	cases := map[string]struct {
		cni  string
		seen seen
		want Verdict // of its message this is a part
	}{
		"the supervisor has not said":  {"", seen{}, Verdict{Message: "start"}},
		"a program fails":              {"", seen{programs: failing}, Verdict{Message: "boom"}},
		"no identity yet":              {"", seen{programs: creating}, Verdict{Message: "asks the cluster for an identity"}},
		"not registered yet":           {"", seen{programs: running, identified: true}, Verdict{Message: "not registered"}},
		"not to be asked":              {"", seen{programs: running, identified: true, trouble: "no route"}, Verdict{Message: "no route"}},
		"ready":                        {"none", seen{programs: running, node: nodeThatIs(corev1.ConditionTrue, "")}, Verdict{Ready: true, Done: true}},
		"ready, while a program fails": {"none", seen{programs: failing, node: nodeThatIs(corev1.ConditionTrue, "")}, Verdict{Ready: true, Done: true}},
		"no network, and none comes":   {"none", seen{programs: running, node: nodeThatIs(corev1.ConditionFalse, "cni")}, Verdict{Done: true, Message: "--cni None"}},
		"routes, which do not come":    {"routes", seen{programs: running, node: nodeThatIs(corev1.ConditionFalse, "cni")}, Verdict{Done: true, Message: "--cni Routes"}},
		"a network comes by itself":    {"flannel", seen{programs: running, node: nodeThatIs(corev1.ConditionFalse, "cni")}, Verdict{Message: "the node is not ready: cni"}},
		"of an unknown cluster":        {"", seen{programs: running, node: nodeThatIs(corev1.ConditionFalse, "cni")}, Verdict{Message: "the node is not ready: cni"}},
		"network added by the user":    {"none", seen{programs: running, network: true, node: nodeThatIs(corev1.ConditionFalse, "disk")}, Verdict{Message: "disk"}},
		"registered, and fails":        {"flannel", seen{programs: failing, node: nodeThatIs(corev1.ConditionFalse, "cni")}, Verdict{Message: "boom"}},
		"registered, and silent":       {"", seen{programs: running, node: &corev1.Node{}}, Verdict{Message: "has not said"}},
	}
	for name, c := range cases {
		r := &Record{Node: "a", Cluster: Cluster{CNI: c.cni}}
		got := r.judge(c.seen)
		if got.Ready != c.want.Ready || got.Done != c.want.Done || !strings.Contains(got.Message, c.want.Message) || (c.want.Message == "") != (got.Message == "") {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestHasNetwork(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []struct {
		file string
		want bool
	}{{"", false}, {"README", false}, {"10-a.conflist", true}} {
		if step.file != "" {
			if err := os.WriteFile(filepath.Join(dir, step.file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := hasNetwork(dir); got != step.want {
			t.Errorf("with %q: %t", step.file, got)
		}
	}
	if hasNetwork(filepath.Join(dir, "missing")) {
		t.Error("a folder that is not there has a network")
	}
}
