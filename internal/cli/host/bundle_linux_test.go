package host

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/internal/cli/exit"
)

// unpacked are the files of a bundle.
func unpacked(t *testing.T, bundle io.Reader) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bundle)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(z); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(header.Name, "kqueen-support/")] = string(text)
	}
}

// TestSupportBundle: of an installation that does not run, the bundle has what there is, says what there is not, and has no secret
// that is in its data directory.
func TestSupportBundle(t *testing.T) {
	const marker = "marker-in-a-secret-place-4e1d"
	dir := withLogs(t)
	long := strings.Repeat("time=2026-11-23T06:00:00Z a line of a long log\n", logBytes/20)
	for file, text := range map[string]string{
		"settings.json":                           `{"listen":"127.0.0.1","database":"postgres://kqueen:` + marker + `@db/k","trust":{"keys":{"ca":"` + marker + `"}}}`,
		"keys/serviceaccounts.key":                marker,
		"kqueen.db":                               marker,
		"admin.kubeconfig":                        marker,
		"audit/audit.log":                         marker,
		"run/workloads/uid-1/pki/ca.key":          marker,
		"run/workloads/uid-1/logs/long.log":       long,
		"run/workloads/uid-1/logs/kube-proxy.log": "--token=" + marker + "\nAuthorization: Bearer " + marker + "\nthe end\n",
		"logs/stderr.log":                         `panic: {"password":"` + marker + `"}` + "\n",
	} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	_, words, err := run(t, dir, "support-bundle", "-o", file)
	if err != nil || !strings.Contains(words, "written to "+file) {
		t.Fatalf("%v, said %q", err, words)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	written, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	files := unpacked(t, written)
	for name, text := range files {
		if strings.Contains(text, marker) {
			t.Errorf("the marker is in %s:\n%.500s", name, text)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON: %s", name, text)
		}
	}
	for name, want := range map[string]string{
		"README.txt":                                  "what could not be had",
		"version.json":                                `"platform": "linux/`,
		"host.json":                                   `"processors": `,
		"checks.json":                                 `"name": "fs.inotify.max_user_instances"`,
		"settings.json":                               `"database": "postgres"`,
		"problems.txt":                                "status.json: KQueen is not running",
		"logs/kqueen/kqueen.log":                      "serving",
		"logs/kqueen/stderr.log":                      "panic",
		"logs/org-blue_demo/kube-apiserver.log":       "third",
		"logs/org-blue_demo/kube-proxy.log":           "the end",
		"logs/org-blue_demo/long.log":                 "a line of a long log",
		"logs/etcd/etcd.log":                          "etcd",
		"logs/kqueen/stderr-20261123T050000.000Z.log": "panic: oh",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s has no %q: %.300q", name, want, files[name])
		}
	}
	if text := files["logs/org-blue_demo/long.log"]; len(text) > logBytes || !strings.HasPrefix(text, "time=") {
		t.Errorf("of a long log there are %d bytes, which begin with %.20q", len(text), text)
	}
	if !strings.Contains(files["problems.txt"], "objects: ") {
		t.Errorf("problems are %s", files["problems.txt"])
	}

	if _, _, err := run(t, dir, "support-bundle", "-o", file); exit.CodeOf(err) != exit.Usage || err == nil || !strings.Contains(err.Error(), "is there; choose another name") {
		t.Errorf("over a file that is there: %v", err)
	}
	out, words, err := run(t, dir, "support-bundle", "-o", "-")
	if again := unpacked(t, strings.NewReader(out)); err != nil || words != "" || len(again) != len(files) {
		t.Errorf("to standard output: %v, %q, %d files, want %d", err, words, len(again), len(files))
	}
	if _, _, err := run(t, t.TempDir(), "support-bundle"); err == nil || !strings.Contains(err.Error(), "KQueen is not set up") {
		t.Errorf("where nothing is set up: %v", err)
	}
}

// TestOutline: of an object only what says how it is.
func TestOutline(t *testing.T) {
	got := outline(map[string]any{
		"apiVersion": "kqueen.io/v1alpha1", "kind": "Provisioner", "spec": map[string]any{"parameters": "x"}, "status": map[string]any{"ready": true},
		"metadata": map[string]any{"name": "n", "namespace": "org-a", "labels": map[string]any{"a": "b"}, "annotations": map[string]any{"a": "b"}, "managedFields": []any{}, "generation": 2},
	})
	want := map[string]any{"kind": "Provisioner", "metadata": map[string]any{"name": "n", "namespace": "org-a", "generation": 2}, "status": map[string]any{"ready": true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"kind": nil, "metadata": map[string]any{}}, outline(nil)); diff != "" {
		t.Errorf("of nothing (-want +got):\n%s", diff)
	}
}

// TestOutlineEvents: events come in the order in which they happened, whichever of their times they have.
func TestOutlineEvents(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 11, 23, 6, 0, second, 0, time.UTC) }
	events := []eventsv1.Event{
		{Reason: "Repeated", Series: &eventsv1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(at(3))}, EventTime: metav1.NewMicroTime(at(1))},
		{Reason: "Once", EventTime: metav1.NewMicroTime(at(2))},
		{Reason: "Old", DeprecatedLastTimestamp: metav1.NewTime(at(1)), DeprecatedCount: 2},
	}
	events[0].Regarding.Kind, events[0].Regarding.Namespace, events[0].Regarding.Name = "Cluster", "org-a", "demo"
	var got []string
	for _, o := range outlineEvents(events) {
		got = append(got, o.Reason)
	}
	if !slices.Equal(got, []string{"Old", "Once", "Repeated"}) {
		t.Errorf("events are %v", got)
	}
	if last := outlineEvents(events)[2]; last.Count != 3 || last.Object != "Cluster org-a/demo" || !last.Time.Equal(at(3)) {
		t.Errorf("the last one is %+v", last)
	}
}
