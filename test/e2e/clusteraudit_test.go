//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// auditsItself has the API server of a cluster write down more, fills its log over the size at which a file is turned over,
// damages what is there, and reads on.
func auditsItself(t *testing.T, i *installation, name string) {
	tenant := clientset(t, i.tenant("default", name))
	if log := i.ok("cluster", "audit", name); !strings.Contains(log, " create ") {
		t.Errorf("the log has no change: %.500s", log)
	}
	i.ok("cluster", "update", name, "--spec", `{"auditLog":"RequestResponse"}`)
	eventually(t, "bodies are written down", func(ctx context.Context) error {
		if err := tryServiceAccount(ctx, tenant, "said-in-the-body", 0); err != nil {
			return err
		}
		if log := i.ok("cluster", "audit", name, "--since", "1m", "-o", "json"); !strings.Contains(log, `"note":"said-in-the-body`) {
			return errors.New("they are not")
		}
		return nil
	})
	plane := &v1alpha1.ControlPlane{}
	if err := i.admin().Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.NamespacePrefix + "default", Name: name}, plane); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(i.dir, "run", "workloads", string(plane.UID), "audit")
	// The body, and the answer with it: half a megabyte each.
	eventually(t, "the file is turned over and compressed", func(ctx context.Context) error {
		for range 8 {
			if err := tryServiceAccount(ctx, tenant, "large", 240<<10); err != nil {
				return err
			}
		}
		if old, err := filepath.Glob(filepath.Join(folder, "audit-*.log.gz")); err != nil || len(old) == 0 {
			return fmt.Errorf("no file in %s is compressed (%w)", folder, err)
		}
		return nil
	})
	if err := os.WriteFile(filepath.Join(folder, "audit-2000-01-01T00-00-00.000.log.gz"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := i.ok("cluster", "audit", name, "-o", "json")
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var last struct {
		Seal struct{ Events, LeftOut int }
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Seal.Events != len(lines)-1 || last.Seal.LeftOut == 0 {
		t.Errorf("%d lines, sealed by %.500s (%v)", len(lines), lines[len(lines)-1], err)
	}
	if !strings.Contains(log, `"note":"said-in-the-body`) {
		t.Error("what was turned over is not read")
	}
}

// tryServiceAccount asks to create a ServiceAccount with a note of some length, and creates none.
func tryServiceAccount(ctx context.Context, c kubernetes.Interface, note string, size int) error {
	_, err := c.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "audited-", Annotations: map[string]string{"note": note + strings.Repeat("-", size)},
	}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
