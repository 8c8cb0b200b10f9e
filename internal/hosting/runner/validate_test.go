package runner_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// workload builds a good description and lets change spoil it.
func workload(change func(w *runner.Workload, c *runner.Component)) runner.Workload {
	w := runner.Workload{
		ID:    "8d7f0c3e-1c1a",
		Files: map[string]runner.File{"pki/ca.crt": {Data: []byte("x"), Mode: 0o644}},
		Components: []runner.Component{{
			Name: "api", Path: "/bin/api", Env: []string{"A=b"}, RestartOn: []string{"pki/ca.crt"},
			Probe: &runner.Probe{URL: "https://127.0.0.1:1/readyz", CAFile: "pki/ca.crt"},
		}},
	}
	change(&w, &w.Components[0])
	return w
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(w *runner.Workload, c *runner.Component)
		want   string // field; empty: valid
	}{
		"Good":          {"the base is valid, or no other case tests anything", func(*runner.Workload, *runner.Component) {}, ""},
		"IDTraversal":   {"an ID becomes a directory", func(w *runner.Workload, _ *runner.Component) { w.ID = "../x" }, "id"},
		"IDUpper":       {"IDs are lower case", func(w *runner.Workload, _ *runner.Component) { w.ID = "A" }, "id"},
		"IDEmpty":       {"an empty ID is the root", func(w *runner.Workload, _ *runner.Component) { w.ID = "" }, "id"},
		"IDLong":        {"64 is one too many", func(w *runner.Workload, _ *runner.Component) { w.ID = strings.Repeat("a", 64) }, "id"},
		"FileTraversal": {"files stay below the directory", func(w *runner.Workload, _ *runner.Component) { w.Files["../x"] = runner.File{} }, "files[../x]"},
		"FileAbsolute":  {"files stay below the directory", func(w *runner.Workload, _ *runner.Component) { w.Files["/x"] = runner.File{} }, "files[/x]"},
		"FileUnclean":   {"two spellings of a file would fight", func(w *runner.Workload, _ *runner.Component) { w.Files["a//b"] = runner.File{} }, "files[a//b]"},
		"FilePorts":     {"the reservation is the runner's", func(w *runner.Workload, _ *runner.Component) { w.Files["ports.json"] = runner.File{} }, "files[ports.json]"},
		"FileLogs":      {"the logs are the runner's", func(w *runner.Workload, _ *runner.Component) { w.Files["logs/a"] = runner.File{} }, "files[logs/a]"},
		"FileMode":      {"no setuid files", func(w *runner.Workload, _ *runner.Component) { w.Files["a"] = runner.File{Mode: fs.ModeSetuid} }, "files[a].mode"},
		"ComponentName": {"the name becomes a log file", func(_ *runner.Workload, c *runner.Component) { c.Name = "a/b" }, "components.name"},
		"Twice":         {"a name is one component", func(w *runner.Workload, c *runner.Component) { w.Components = append(w.Components, *c) }, "components.name"},
		"PathRelative":  {"cwd is the workload's directory", func(_ *runner.Workload, c *runner.Component) { c.Path = "api" }, "components[api].path"},
		"ArgZero":       {"the kernel would cut it", func(_ *runner.Workload, c *runner.Component) { c.Args = []string{"a\x00b"} }, "components[api].args"},
		"EnvShape":      {"entries have a name", func(_ *runner.Workload, c *runner.Component) { c.Env = []string{"novalue"} }, "components[api].env"},
		"EnvMark":       {"a forged mark would hide or steal a process", func(_ *runner.Workload, c *runner.Component) { c.Env = []string{"KQUEEN_SPEC=x"} }, "components[api].env"},
		"RestartOn":     {"an unknown file is a typing error", func(_ *runner.Workload, c *runner.Component) { c.RestartOn = []string{"x"} }, "components[api].restartOn"},
		"AfterUnknown":  {"it would never start", func(_ *runner.Workload, c *runner.Component) { c.After = []string{"etcd"} }, "components[api].after"},
		"AfterCircle":   {"it would never start", func(_ *runner.Workload, c *runner.Component) { c.After = []string{"api"} }, "components[api].after"},
		"WithinNone":    {"it would never start", func(_ *runner.Workload, c *runner.Component) { c.Within = "x" }, "components[api].within"},
		"WithinPlain": {"there are no namespaces to join", func(w *runner.Workload, c *runner.Component) {
			w.Components = append(w.Components, runner.Component{Name: "in", Path: "/bin/in", Within: "api"})
		}, "components[in].within"},
		"WithinBoth": {"it can be in one only", func(w *runner.Workload, c *runner.Component) {
			c.Isolated = true
			w.Components = append(w.Components, runner.Component{Name: "in", Path: "/bin/in", Within: "api", Isolated: true})
		}, "components[in].within"},
		"ProbeURL":      {"only http is spoken", func(_ *runner.Workload, c *runner.Component) { c.Probe.URL = "tcp://x" }, "components[api].probe.url"},
		"ProbeFile":     {"files stay below the directory", func(_ *runner.Workload, c *runner.Component) { c.Probe.CAFile = "../ca" }, "components[api].probe.file"},
		"ProbeHalfPair": {"a certificate needs its key", func(_ *runner.Workload, c *runner.Component) { c.Probe.CertFile = "a" }, "components[api].probe.certFile"},
		"Grace":         {"time does not run backwards", func(_ *runner.Workload, c *runner.Component) { c.StopGrace = -1 }, "components[api].stopGrace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := workload(tc.change).Validate()
			var bad *runner.InvalidError
			got := ""
			if errors.As(err, &bad) {
				got = bad.Field
			}
			if err != nil && bad == nil {
				t.Fatalf("want an InvalidError, got %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: field (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzCheckName holds what the rest relies on: an accepted name is one element
// of a path and stays below its parent.
func FuzzCheckName(f *testing.F) {
	for _, s := range []string{"a", "..", ".", "a/b", "a.b-c", "", "-", "a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if runner.CheckName("id", s) != nil {
			return
		}
		if !filepath.IsLocal(s) || filepath.Base(s) != s || strings.ContainsRune(s, 0) {
			t.Errorf("accepted %q", s)
		}
	})
}
