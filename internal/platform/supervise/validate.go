package supervise

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/platform/component"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// CheckName returns an [*invalid.Error] unless name is [a-z0-9][a-z0-9.-]{0,62}: such names are safe as one element of
// a path.
func CheckName(field, name string) error {
	ok := name != "" && len(name) <= 63 && name[0] != '.' && name[0] != '-'
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-')
	}
	if !ok {
		return invalid.New(field, "%q is no name; want 1 to 63 of a-z, 0-9, '-' and '.', beginning with a letter or digit", name)
	}
	return nil
}

// Reserved names in a workload's directory; they belong to the supervisor.
const (
	LogDir    = "logs"
	PortsFile = "ports.json"

	subjectFile = "subject.json"
)

// Validate checks the description by itself and returns an [*invalid.Error] for the first fault.
func (w Workload) Validate() error {
	if err := CheckName("id", w.ID); err != nil {
		return err
	}
	for name, f := range w.Files {
		if err := checkFile(name, f); err != nil {
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
	if err := w.checkConfined(); err != nil {
		return err
	}
	return component.CheckOrder(parts)
}

// parts are the components as far as the rules for all descriptions go.
func (w Workload) parts() []component.Component {
	parts := make([]component.Component, len(w.Components))
	for i, c := range w.Components {
		parts[i] = component.Component{
			Name: c.Name, Args: append([]string{c.Path}, c.Args...), Env: c.Env, RestartOn: c.RestartOn,
			After: c.Predecessors(), StopGrace: c.StopGrace,
		}
	}
	return parts
}

func (w Workload) hasFile(name string) bool {
	_, ok := w.Files[name]
	return ok
}

func checkFile(name string, f File) error {
	field := fmt.Sprintf("files[%s]", name)
	if err := checkPath(field, name); err != nil {
		return err
	}
	if first, _, _ := strings.Cut(name, "/"); slices.Contains([]string{LogDir, PortsFile, subjectFile}, first) {
		return invalid.New(field, "%q belongs to the supervisor; choose another name", first)
	}
	if f.Mode&^fs.ModePerm != 0 {
		return invalid.New(field+".mode", "%v has more than permission bits; want such as 0600", f.Mode)
	}
	return nil
}

// checkPath accepts clean relative paths that stay below the directory.
func checkPath(field, name string) error {
	if !filepath.IsLocal(name) || path.Clean(name) != name || name == "." || strings.ContainsRune(name, 0) {
		return invalid.New(field, "%q is no clean relative path below the workload's directory", name)
	}
	return nil
}

func (w Workload) checkComponent(c Component) error {
	field := func(f string) string { return component.Field(c.Name, f) }
	if !filepath.IsAbs(c.Path) {
		return invalid.New(field("path"), "%q is not absolute", c.Path)
	}
	for _, e := range c.Env {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "KQUEEN_") {
			return invalid.New(field("env"), "%s belongs to the supervisor; names must not begin with KQUEEN_", name)
		}
	}
	if err := w.checkWithin(field("within"), c); err != nil {
		return err
	}
	if err := checkProbe(field("probe"), c.Probe); err != nil {
		return err
	}
	return c.checkHandsOver(field("handsOver"))
}

// checkConfined refuses what a confined workload cannot have: folders that its user cannot enter, and namespaces, which
// take privileges.
func (w Workload) checkConfined() error {
	for _, c := range w.Components {
		for _, folder := range c.Writes {
			if !filepath.IsAbs(folder) {
				if err := checkPath(component.Field(c.Name, "writes"), folder); err != nil {
					return err
				}
				continue
			}
			if filepath.Clean(folder) != folder || folder == "/" {
				return invalid.New(component.Field(c.Name, "writes"), "%q is no clean path of a folder", folder)
			}
		}
		if w.Confined && c.Within != "" {
			return invalid.New(component.Field(c.Name, "within"), "a confined program runs in no namespaces of another; choose one of the two")
		}
	}
	for name := range w.Files {
		if w.Confined && strings.Contains(name, "/") {
			return invalid.New(fmt.Sprintf("files[%s]", name), "lies in a folder; those of a confined workload lie in its directory itself")
		}
	}
	return nil
}

func (w Workload) checkWithin(field string, c Component) error {
	if c.Within == "" {
		return nil
	}
	for _, other := range w.Components {
		if other.Name != c.Within {
			continue
		}
		if other.Within != "" {
			return invalid.New(field, "%q runs within another component itself; name that one", c.Within)
		}
		return nil
	}
	return invalid.New(field, "%q is not a component of the workload", c.Within)
}

func checkProbe(field string, p *Probe) error {
	if p == nil {
		return nil
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return invalid.New(field+".url", "%q is not an http or https URL with a host", p.URL)
	}
	for _, f := range []string{p.CAFile, p.CertFile, p.KeyFile} {
		if f == "" {
			continue
		}
		if err := checkPath(field+".file", f); err != nil {
			return err
		}
	}
	if (p.CertFile == "") != (p.KeyFile == "") {
		return invalid.New(field+".certFile", "certificate and key go together; give both or none")
	}
	if p.Socket != "" && (!path.IsAbs(p.Socket) || u.Scheme != "http" || p.CAFile+p.CertFile != "") {
		return invalid.New(field+".socket", "%q is not an absolute path, or the probe uses TLS; want a path and a URL of http", p.Socket)
	}
	return nil
}

// checkHandsOver: it is by a probe that it is known when another process may take the place, and whether one that is to leave hangs.
// That one is asked without any files: of TLS, whether it answers and not who.
func (c Component) checkHandsOver(field string) error {
	if c.HandsOver == 0 {
		return nil
	}
	if c.HandsOver < 0 || c.Within != "" || c.Probe == nil || c.Probe.Socket != "" {
		return invalid.New(field, "%v is not for this component; want a time of one that runs within no other and has a probe by a port", c.HandsOver)
	}
	return nil
}
