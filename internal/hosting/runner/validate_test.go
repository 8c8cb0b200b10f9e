package runner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// workload builds a good description and lets change spoil it.
func workload(change func(w *runner.Workload, c *runner.Component)) runner.Workload {
	w := runner.Workload{
		ID:    "8d7f0c3e-1c1a",
		Files: map[string]runner.File{"ca.crt": {Data: []byte("$x")}, "conf": {Data: []byte(runner.LocalRef("api")), Template: true}},
		Ports: []runner.Port{{Name: "api", Public: true}, {Name: "health"}},
		Components: []runner.Component{{
			Name: "api", Program: runner.Program{Name: "api", Version: "v1"}, Env: []string{"A=b"}, RestartOn: []string{"ca.crt"},
			Args:  []string{"--ca=" + runner.FileRef("ca.crt"), "--listen=" + runner.BindRef("api") + ":" + runner.PortRef("api")},
			Ports: []string{"api"}, Probe: &runner.Probe{Port: "api", Path: "/readyz", TLS: &runner.TLS{CA: "ca.crt"}},
			Resources: runner.Resources{Requests: runner.Amounts{MilliCPU: 10, Memory: 1}, Limits: runner.Amounts{Memory: 1}},
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
		"IDTraversal":   {"an ID names folders and objects", func(w *runner.Workload, _ *runner.Component) { w.ID = "../x" }, "id"},
		"IDDot":         {"an ID is one label of DNS", func(w *runner.Workload, _ *runner.Component) { w.ID = "a.b" }, "id"},
		"IDLong":        {"64 is one too many", func(w *runner.Workload, _ *runner.Component) { w.ID = strings.Repeat("a", 64) }, "id"},
		"FileTraversal": {"a file is a name, not a path", func(w *runner.Workload, _ *runner.Component) { w.Files["../x"] = runner.File{} }, "files[../x]"},
		"FileFolder":    {"keys of Secrets have no folders", func(w *runner.Workload, _ *runner.Component) { w.Files["a/b"] = runner.File{} }, "files[a/b]"},
		"FileReference": {"a template names what is there", func(w *runner.Workload, _ *runner.Component) {
			w.Files["x"] = runner.File{Data: []byte(runner.PortRef("x")), Template: true}
		}, "files[x]"},
		"FilePlain": {"other files are left alone", func(w *runner.Workload, _ *runner.Component) {
			w.Files["x"] = runner.File{Data: []byte(runner.PortRef("x"))}
		}, ""},
		"PortTwice":     {"a name is one port", func(w *runner.Workload, _ *runner.Component) { w.Ports = append(w.Ports, w.Ports[0]) }, "ports.name"},
		"PortName":      {"names are labels", func(w *runner.Workload, _ *runner.Component) { w.Ports[1].Name = "A" }, "ports.name"},
		"ComponentName": {"the name becomes a log file", func(_ *runner.Workload, c *runner.Component) { c.Name = "a/b" }, "components.name"},
		"Twice":         {"a name is one component", func(w *runner.Workload, c *runner.Component) { w.Components = append(w.Components, *c) }, "components.name"},
		"Program":       {"nothing would run", func(_ *runner.Workload, c *runner.Component) { c.Program.Name = "" }, "components[api].program.name"},
		"ArgZero":       {"the kernel would cut it", func(_ *runner.Workload, c *runner.Component) { c.Args = []string{"a\x00b"} }, "components[api].args"},
		"ArgFile":       {"an unknown file is a typing error", func(_ *runner.Workload, c *runner.Component) { c.Args = []string{runner.FileRef("x")} }, "components[api].args"},
		"ArgPort":       {"an unknown port is a typing error", func(_ *runner.Workload, c *runner.Component) { c.Args = []string{runner.LocalRef("x")} }, "components[api].args"},
		"ArgKind":       {"an unknown kind is a typing error", func(_ *runner.Workload, c *runner.Component) { c.Args = []string{"$(x:api)"} }, "components[api].args"},
		"ArgOpen":       {"half a reference is none", func(_ *runner.Workload, c *runner.Component) { c.Args = []string{"$(port:api"} }, "components[api].args"},
		"EnvShape":      {"entries have a name", func(_ *runner.Workload, c *runner.Component) { c.Env = []string{"novalue"} }, "components[api].env"},
		"RestartOn":     {"an unknown file is a typing error", func(_ *runner.Workload, c *runner.Component) { c.RestartOn = []string{"x"} }, "components[api].restartOn"},
		"Ports":         {"an unknown port is a typing error", func(_ *runner.Workload, c *runner.Component) { c.Ports = append(c.Ports, "x") }, "components[api].ports"},
		"AfterUnknown":  {"it would never start", func(_ *runner.Workload, c *runner.Component) { c.After = []string{"etcd"} }, "components[api].after"},
		"AfterCircle":   {"it would never start", func(_ *runner.Workload, c *runner.Component) { c.After = []string{"api"} }, "components[api].after"},
		"ProbePort":     {"a probe asks its own component", func(_ *runner.Workload, c *runner.Component) { c.Probe.Port = "health" }, "components[api].probe.port"},
		"ProbePath":     {"a path begins with a slash", func(_ *runner.Workload, c *runner.Component) { c.Probe.Path = "readyz" }, "components[api].probe.path"},
		"ProbeFile":     {"an unknown file is a typing error", func(_ *runner.Workload, c *runner.Component) { c.Probe.TLS.CA = "x" }, "components[api].probe.tls"},
		"ProbeNoCA":     {"https needs an authority", func(_ *runner.Workload, c *runner.Component) { c.Probe.TLS.CA = "" }, "components[api].probe.tls"},
		"ProbeHalfPair": {"a certificate needs its key", func(_ *runner.Workload, c *runner.Component) { c.Probe.TLS.Cert = "ca.crt" }, "components[api].probe.tls.cert"},
		"Resources":     {"no program can take more than its limit", func(_ *runner.Workload, c *runner.Component) { c.Resources.Requests.Memory = 2 }, "components[api].resources.memory"},
		"OwnElsewhere":  {"only what is handed over has one", func(_ *runner.Workload, c *runner.Component) { c.Args = []string{runner.OwnRef("api")} }, "components[api].args"},
		"HandOver":      {"two run for a while", func(_ *runner.Workload, c *runner.Component) { c.HandOver = handOver(runner.OwnRef("api")) }, ""},
		"HandOverAlone": {"two must not run", func(_ *runner.Workload, c *runner.Component) { c.Alone, c.HandOver = true, handOver() }, "components[api].handOver"},
		"HandOverTime":  {"it would be killed at once", func(_ *runner.Workload, c *runner.Component) { c.HandOver = &runner.HandOver{Port: "api"} }, "components[api].handOver.within"},
		"HandOverPort":  {"by the probe it is known when another one may take the place", func(_ *runner.Workload, c *runner.Component) { c.HandOver, c.Probe = handOver(), nil }, "components[api].handOver.port"},
		"HandOverArgs":  {"they tell how it is handed over", func(_ *runner.Workload, c *runner.Component) { c.HandOver = handOver(runner.PortRef("api")) }, "components[api].handOver.args"},
		"Grace":         {"time does not run backwards", func(_ *runner.Workload, c *runner.Component) { c.StopGrace = -1 }, "components[api].stopGrace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := workload(tc.change).Validate()
			bad, ok := errors.AsType[*invalid.Error](err)
			if err != nil && !ok {
				t.Fatalf("want an invalid.Error, got %v", err)
			}
			got := ""
			if ok {
				got = bad.Field
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: field (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func handOver(args ...string) *runner.HandOver {
	return &runner.HandOver{Port: "api", Within: time.Minute, Args: args}
}

func TestExpand(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		text, want string
		fails      bool
	}{
		"Plain":    {"--a=$b(c)", "--a=$b(c)", false},
		"One":      {"--a=" + runner.FileRef("f"), "--a=<file f>", false},
		"Adjacent": {runner.BindRef("p") + ":" + runner.PortRef("p") + "/", "<bind p>:<port p>/", false},
		"Open":     {"x$(file:f", "", true},
		"NoKind":   {"$(f)", "", true},
		"Refused":  {runner.FileRef("boom"), "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := runner.Expand(tc.text, func(r runner.Reference) (string, error) {
				if r.Name == "boom" {
					return "", boom
				}
				return "<" + string(r.Kind) + " " + r.Name + ">", nil
			})
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("want %q, got %q, %v", tc.want, got, err)
			}
		})
	}
}
