//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// loseDatabase starts KQueen without its database and with damaged files: clusters go on, the owner is told what is wrong, no
// other database takes the place of the lost one, and with that back the API answers again.
func loseDatabase(t *testing.T, i *installation) {
	tenant := clientset(t, i.tenant("default", "demo"))
	var ports string
	for _, w := range i.status().Workloads {
		if w.Name == "org-default/demo" {
			ports = filepath.Join(i.dir, "run", "workloads", w.ID, "ports.json")
		}
	}
	i.halt()
	move := func(from, to string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(i.dir, from, "kqueen.db*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no database in %s: %v", from, err)
		}
		for _, file := range files {
			if err := os.Rename(file, filepath.Join(i.dir, to, filepath.Base(file))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(i.dir, "backup"), 0o700); err != nil {
		t.Fatal(err)
	}
	move("", "backup")
	for _, file := range []string{"settings.json", "keys/cursors.key", "keys/webhooks.json"} {
		if err := os.Truncate(filepath.Join(i.dir, file), 5); err != nil {
			t.Fatal(err)
		}
	}
	reserved, err := os.ReadFile(ports)
	if err := errors.Join(err, os.Truncate(ports, 0)); err != nil {
		t.Fatal(err)
	}
	i.up()
	said := i.ok("status")
	for _, file := range []string{"kqueen.db", "settings.json", "keys/cursors.key", "keys/webhooks.json"} {
		if !strings.Contains(said, "PROBLEM: "+filepath.Join(i.dir, file)) {
			t.Errorf("the status does not say what is wrong with %s:\n%s", file, said)
		}
	}
	if r := i.kqueen("cluster", "list"); r.code == 0 || !strings.Contains(r.stderr, "kqueen status") {
		t.Errorf("the API without its database: exit code %d: %s", r.code, r.stderr)
	}
	if _, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the cluster: %v", err)
	}
	move("backup", "")
	if err := os.Remove(filepath.Join(i.dir, "backup")); err != nil {
		t.Error(err)
	}
	eventually(t, "the API answers with the database back", func(context.Context) error {
		if r := i.kqueen("cluster", "list"); r.code != 0 || !strings.Contains(r.stdout, "demo") {
			return fmt.Errorf("exit code %d: %s", r.code, r.stderr)
		}
		return nil
	})
	// Which ports its clients have is not known of the cluster, which goes on all the same.
	if said := i.ok("cluster", "describe", "demo"); !strings.Contains(said, ports+" is damaged") || !strings.Contains(said, "restore it from a backup") {
		t.Errorf("the cluster does not say what is wrong with its ports:\n%s", said)
	}
	if _, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the cluster without its ports: %v", err)
	}
	if err := os.WriteFile(ports, reserved, 0o600); err != nil {
		t.Fatal(err)
	}
	i.ok("cluster", "wait", "demo", "--timeout", "5m")
}
