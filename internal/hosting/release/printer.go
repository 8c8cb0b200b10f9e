package release

import (
	"context"
	"fmt"
	"io"
	"time"
)

// lineInterval is how often a build that is not shown on a terminal says how far it is.
const lineInterval = 30 * time.Second

// Printer shows to a user how builds go on, on lines of their own.
type Printer struct {
	Out io.Writer
	// Redraw is set where Out is a terminal: one line is then drawn again and again.
	Redraw bool
}

// ControlPlanes ensures what control planes run, of each of the modules, one after the other.
func (p Printer) ControlPlanes(ctx context.Context, s *Store, modules []ModuleInfo) error {
	for _, m := range modules {
		err := p.show("Kubernetes "+m.Version.String(), func(report func(Step)) (string, error) {
			made, err := s.Ensure(ctx, m.Version, Source{Build: &Build{Module: m.Dir}}, report)
			return made.Dir, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Nodes ensures what nodes run, with the kubelet of each of the modules. parts is the folder of the module "node".
func (p Printer) Nodes(ctx context.Context, s *Store, modules []ModuleInfo, parts string) error {
	for _, m := range modules {
		err := p.show("nodes of "+m.Version.String(), func(report func(Step)) (string, error) {
			made, err := s.EnsureNode(ctx, m.Version, NodeSource{Kubernetes: m.Dir, Parts: parts}, report)
			return made.Dir, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Addons ensures the images of addons. node is the folder of the module "node".
func (p Printer) Addons(ctx context.Context, s *Store, node string) error {
	return p.show("images of addons", func(report func(Step)) (string, error) {
		made, err := s.EnsureAddonImages(ctx, node, report)
		return made.Dir, err
	})
}

// show builds one thing, which tells the folder that it is in, and prints its steps and how long it took.
func (p Printer) show(name string, build func(report func(Step)) (string, error)) error {
	begin := time.Now()
	dir, err := build(p.steps(name))
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	fmt.Fprintf(p.Out, "%s  ✓ %s in %s   %.1fs\n", p.clear(), name, dir, time.Since(begin).Seconds())
	return nil
}

// clear goes back to the beginning of the line that is redrawn and empties it.
func (p Printer) clear() string {
	if p.Redraw {
		return "\r\x1b[K"
	}
	return ""
}

// steps returns a report that prints every step of one build.
func (p Printer) steps(name string) func(Step) {
	var printed time.Duration
	return func(s Step) {
		count := ""
		if s.Total > 0 {
			count = fmt.Sprintf("   %d/%d %s", s.Done, s.Total, s.Unit)
		}
		line := fmt.Sprintf("  … %s: %s   %.0fs%s", name, s.Name, s.Elapsed.Seconds(), count)
		switch {
		case p.Redraw:
			fmt.Fprint(p.Out, p.clear()+line)
		case printed == 0 || s.Elapsed < printed || s.Elapsed-printed >= lineInterval:
			printed = max(s.Elapsed, 1)
			fmt.Fprintln(p.Out, line)
		}
	}
}
