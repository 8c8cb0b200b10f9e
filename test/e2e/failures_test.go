//go:build linux

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestFailures kills the API server of a tenant and KQueen itself, replaces what stands between it and its clients, kills everything at once, fills the
// stores and the disk, and then takes files away. TestSoak kills what else there is.
func TestFailures(t *testing.T) {
	i, ownDisk := onOwnDisk(t)
	i.up()
	i.ok("cluster", "create", "demo", "--wait", "--timeout", "5m")
	t.Run("APIServer", func(t *testing.T) { killAPIServer(t, i) })
	t.Run("Keeper", func(t *testing.T) { killServer(t, i) })
	t.Run("Systemd", func(t *testing.T) { underSystemd(t, i) })
	t.Run("Upgrade", func(t *testing.T) { replaceFronts(t, i) })
	t.Run("Power", func(t *testing.T) { losePower(t, i) })
	t.Run("FullStores", func(t *testing.T) { fillStores(t, i) })
	t.Run("FullDisk", func(t *testing.T) {
		if !ownDisk {
			t.Skip("a disk in memory has to be mounted, and this machine does not allow that")
		}
		fillDisk(t, i)
	})
	t.Run("Damage", func(t *testing.T) { loseDatabase(t, i) })
}

func killAPIServer(t *testing.T, i *installation) {
	tenant := clientset(t, i.tenant("default", "demo"))
	said := watchFailure(t, i, "kube-apiserver")
	kill(t, i.pid("org-default/demo", "kube-apiserver"))
	begin := time.Now()
	eventually(t, "the API server answers", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return tenant.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	took := time.Since(begin)
	t.Logf("kube-apiserver of a tenant killed: serving again after %.1fs", took.Seconds())
	if took > 20*time.Second {
		t.Errorf("serving again after %s", took)
	}
	select {
	case message := <-said:
		t.Logf("in between the condition said: %s", message)
	case <-time.After(patience):
		t.Errorf("no condition %s said that kube-apiserver failed", v1alpha1.ConditionComponentsReady)
	}
	i.ok("cluster", "wait", "demo", "--timeout", "5m")
	eventually(t, "an event tells of it", func(context.Context) error {
		events := i.ok("cluster", "events", "demo")
		if !strings.Contains(events, v1alpha1.ReasonComponentsFailing) {
			return fmt.Errorf("events are:\n%s", events)
		}
		return nil
	})
}

// watchFailure returns the first message of the components' condition that names a failing component.
func watchFailure(t *testing.T, i *installation, component string) <-chan string {
	t.Helper()
	w, err := i.admin().Watch(t.Context(), &v1alpha1.ControlPlaneList{}, client.InNamespace("org-default"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	said := make(chan string, 1)
	go func() {
		for event := range w.ResultChan() {
			cp, ok := event.Object.(*v1alpha1.ControlPlane)
			if !ok {
				continue
			}
			c := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionComponentsReady)
			if c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonComponentsFailing && strings.Contains(c.Message, component) {
				said <- c.Message
				return
			}
		}
	}()
	return said
}

// losePower: after a power failure all is as it was. Nothing that is said afterwards may be from before it.
func losePower(t *testing.T, i *installation) {
	kubeconfig := i.kubeconfig("default", "demo")
	i.kubectl(kubeconfig, "", "create", "configmap", "before-the-night", "--from-literal=k=v")
	i.killAll(t)
	i.up()
	i.ok("cluster", "wait", "demo", "--timeout", "5m")
	if got := i.kubectl(kubeconfig, "", "get", "configmap", "before-the-night", "-o", "jsonpath={.data.k}"); got != "v" {
		t.Errorf("after the power came back the object holds %q", got)
	}
}
