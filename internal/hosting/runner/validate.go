package runner

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"kqueen.io/kqueen/internal/platform/component"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// CheckName returns an [*invalid.Error] unless name is a label as DNS has it, at most 63 of a-z, 0-9 and '-': whatever
// a runner makes can be named by it.
func CheckName(field, name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return invalid.New(field, "%q is no name: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// CheckPorts returns an [*invalid.Error] unless each port has a name of its own.
func CheckPorts(ports []Port) error {
	seen := map[string]bool{}
	for _, p := range ports {
		if err := CheckName("ports.name", p.Name); err != nil {
			return err
		}
		if seen[p.Name] {
			return invalid.New("ports.name", "%q is listed twice; names are unique", p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}

// Validate checks the description by itself and returns an [*invalid.Error] for the first fault.
func (w Workload) Validate() error {
	if err := CheckName("id", w.ID); err != nil {
		return err
	}
	if err := CheckPorts(w.Ports); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		if err := w.checkFile(name, w.Files[name]); err != nil {
			return err
		}
	}
	parts := w.parts()
	if err := component.Check(parts, CheckName, w.hasFile); err != nil {
		return err
	}
	for _, c := range w.Components {
		if err := w.checkComponent(c); err != nil {
			return err
		}
	}
	return component.CheckOrder(parts)
}

// parts are the components as far as the rules for all descriptions go.
func (w Workload) parts() []component.Component {
	parts := make([]component.Component, len(w.Components))
	for i, c := range w.Components {
		parts[i] = component.Component{Name: c.Name, Args: c.Args, Env: c.Env, RestartOn: c.RestartOn, After: c.After, StopGrace: c.StopGrace}
	}
	return parts
}

// checkFile accepts the names that keys of a Secret may have.
func (w Workload) checkFile(name string, f File) error {
	field := fmt.Sprintf("files[%s]", name)
	if problems := validation.IsConfigMapKey(name); len(problems) > 0 {
		return invalid.New(field, "%q is no name of a file: %s", name, strings.Join(problems, "; "))
	}
	if !f.Template {
		return nil
	}
	return w.checkText(field, string(f.Data))
}

func (w Workload) checkText(field, text string) error {
	_, err := Expand(text, w.check(field))
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return bad
	}
	return invalid.New(field, "%v", err)
}

func (w Workload) checkComponent(c Component) error {
	field := func(f string) string { return component.Field(c.Name, f) }
	if c.Program.Name == "" {
		return invalid.New(field("program.name"), "is empty; say which program to run")
	}
	for _, a := range c.Args {
		if err := w.checkText(field("args"), a); err != nil {
			return err
		}
	}
	for _, p := range c.Ports {
		if !w.hasPort(p) {
			return invalid.New(field("ports"), "%q is not one of the workload's ports", p)
		}
	}
	if err := c.Resources.check(field("resources")); err != nil {
		return err
	}
	if err := c.checkHandOver(field("handOver")); err != nil {
		return err
	}
	return w.checkProbe(field("probe"), c)
}

func (c Component) checkHandOver(field string) error {
	h := c.HandOver
	switch {
	case h == nil:
		return nil
	case h.Within <= 0:
		return invalid.New(field+".within", "is %v; want how long the process may go on when another one has its place", h.Within)
	case c.Alone:
		return invalid.New(field, "two of them run for a while; that is not for a program that is alone")
	case c.Probe == nil || c.Probe.Port != h.Port || !slices.Contains(c.Ports, h.Port):
		return invalid.New(field+".port", "%q is not the port of the component's probe", h.Port)
	}
	for _, a := range h.Args {
		_, err := Expand(a, func(r Reference) (string, error) {
			if r.Kind != KindHandover && r.Kind != KindOwn || r.Name != h.Port {
				return "", fmt.Errorf("%s: want handover or own, and the port %s", r, h.Port)
			}
			return "", nil
		})
		if err != nil {
			return invalid.New(field+".args", "%v", err)
		}
	}
	return nil
}

func (w Workload) hasPort(name string) bool {
	return slices.ContainsFunc(w.Ports, func(p Port) bool { return p.Name == name })
}

func (w Workload) hasFile(name string) bool {
	_, ok := w.Files[name]
	return ok
}

func (r Resources) check(field string) error {
	for _, x := range []struct {
		name           string
		request, limit int64
	}{{"milliCPU", r.Requests.MilliCPU, r.Limits.MilliCPU}, {"memory", r.Requests.Memory, r.Limits.Memory}} {
		if x.request < 0 || x.limit < 0 || x.limit > 0 && x.limit < x.request {
			return invalid.New(field+"."+x.name, "request %d and limit %d do not fit; want 0 or more, and a limit that is no less than the request", x.request, x.limit)
		}
	}
	return nil
}

func (w Workload) checkProbe(field string, c Component) error {
	p := c.Probe
	if p == nil {
		return nil
	}
	if !slices.Contains(c.Ports, p.Port) {
		return invalid.New(field+".port", "%q is not one of the component's ports", p.Port)
	}
	if !strings.HasPrefix(p.Path, "/") {
		return invalid.New(field+".path", "%q does not begin with /", p.Path)
	}
	if p.TLS == nil {
		return nil
	}
	if (p.TLS.Cert == "") != (p.TLS.Key == "") {
		return invalid.New(field+".tls.cert", "certificate and key go together; give both or none")
	}
	for i, f := range []string{p.TLS.CA, p.TLS.Cert, p.TLS.Key} {
		if !w.hasFile(f) && (i == 0 || f != "") {
			return invalid.New(field+".tls", "%q is not one of the workload's files", f)
		}
	}
	return nil
}
