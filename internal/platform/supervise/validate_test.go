package supervise

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// good builds a good description and lets change spoil it.
func good(change func(w *Workload, c *Component)) Workload {
	w := Workload{
		ID:    "8d7f0c3e-1c1a",
		Files: map[string]File{"pki/ca.crt": {Data: []byte("x"), Mode: 0o644}},
		Components: []Component{{
			Name: "api", Path: "/bin/api", Env: []string{"A=b"}, RestartOn: []string{"pki/ca.crt"},
			Probe: &Probe{URL: "https://127.0.0.1:1/readyz", CAFile: "pki/ca.crt"},
		}},
	}
	change(&w, &w.Components[0])
	return w
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(w *Workload, c *Component)
		want   string // field; empty: valid
	}{
		"Good":          {"the base is valid, or no other case tests anything", func(*Workload, *Component) {}, ""},
		"IDTraversal":   {"an ID becomes a directory", func(w *Workload, _ *Component) { w.ID = "../x" }, "id"},
		"IDUpper":       {"IDs are lower case", func(w *Workload, _ *Component) { w.ID = "A" }, "id"},
		"IDEmpty":       {"an empty ID is the root", func(w *Workload, _ *Component) { w.ID = "" }, "id"},
		"IDLong":        {"64 is one too many", func(w *Workload, _ *Component) { w.ID = strings.Repeat("a", 64) }, "id"},
		"FileTraversal": {"files stay below the directory", func(w *Workload, _ *Component) { w.Files["../x"] = File{} }, "files[../x]"},
		"FileAbsolute":  {"files stay below the directory", func(w *Workload, _ *Component) { w.Files["/x"] = File{} }, "files[/x]"},
		"FileUnclean":   {"two spellings of a file would fight", func(w *Workload, _ *Component) { w.Files["a//b"] = File{} }, "files[a//b]"},
		"FilePorts":     {"the reservation is the supervisor's", func(w *Workload, _ *Component) { w.Files["ports.json"] = File{} }, "files[ports.json]"},
		"FileLogs":      {"the logs are the supervisor's", func(w *Workload, _ *Component) { w.Files["logs/a"] = File{} }, "files[logs/a]"},
		"FileMode":      {"no setuid files", func(w *Workload, _ *Component) { w.Files["a"] = File{Mode: fs.ModeSetuid} }, "files[a].mode"},
		"ComponentName": {"the name becomes a log file", func(_ *Workload, c *Component) { c.Name = "a/b" }, "components.name"},
		"Twice":         {"a name is one component", func(w *Workload, c *Component) { w.Components = append(w.Components, *c) }, "components.name"},
		"PathRelative":  {"cwd is the workload's directory", func(_ *Workload, c *Component) { c.Path = "api" }, "components[api].path"},
		"ArgZero":       {"the kernel would cut it", func(_ *Workload, c *Component) { c.Args = []string{"a\x00b"} }, "components[api].args"},
		"EnvShape":      {"entries have a name", func(_ *Workload, c *Component) { c.Env = []string{"novalue"} }, "components[api].env"},
		"EnvMark":       {"a forged mark would hide or steal a process", func(_ *Workload, c *Component) { c.Env = []string{"KQUEEN_SPEC=x"} }, "components[api].env"},
		"RestartOn":     {"an unknown file is a typing error", func(_ *Workload, c *Component) { c.RestartOn = []string{"x"} }, "components[api].restartOn"},
		"AfterUnknown":  {"it would never start", func(_ *Workload, c *Component) { c.After = []string{"etcd"} }, "components[api].after"},
		"AfterCircle":   {"it would never start", func(_ *Workload, c *Component) { c.After = []string{"api"} }, "components[api].after"},
		"WithinNone":    {"it would never start", func(_ *Workload, c *Component) { c.Within = "x" }, "components[api].within"},
		"WithinWithin": {"what starts it has to run with us", func(w *Workload, _ *Component) {
			w.Components = append(w.Components, Component{Name: "in", Path: "/bin/in", Within: "api"}, Component{Name: "inner", Path: "/bin/in", Within: "in"})
		}, "components[inner].within"},
		"ProbeURL":      {"only http is spoken", func(_ *Workload, c *Component) { c.Probe.URL = "tcp://x" }, "components[api].probe.url"},
		"ProbeFile":     {"files stay below the directory", func(_ *Workload, c *Component) { c.Probe.CAFile = "../ca" }, "components[api].probe.file"},
		"ProbeSocket":   {"it is dialed as the program sees it", func(_ *Workload, c *Component) { c.Probe = &Probe{URL: "http://x/a.B/C", Socket: "run/a.sock"} }, "components[api].probe.socket"},
		"ProbeHalfPair": {"a certificate needs its key", func(_ *Workload, c *Component) { c.Probe.CertFile = "a" }, "components[api].probe.certFile"},
		"Grace":         {"time does not run backwards", func(_ *Workload, c *Component) { c.StopGrace = -1 }, "components[api].stopGrace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := good(tc.change).Validate()
			var bad *invalid.Error
			got := ""
			if errors.As(err, &bad) {
				got = bad.Field
			}
			if err != nil && bad == nil {
				t.Fatalf("want an invalid.Error, got %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: field (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzCheckName holds what the rest relies on: an accepted name is one element of a path and stays below its parent.
func FuzzCheckName(f *testing.F) {
	for _, s := range []string{"a", "..", ".", "a/b", "a.b-c", "", "-", "a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if CheckName("id", s) != nil {
			return
		}
		if !filepath.IsLocal(s) || filepath.Base(s) != s || strings.ContainsRune(s, 0) {
			t.Errorf("accepted %q", s)
		}
	})
}
