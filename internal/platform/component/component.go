// Package component checks what all descriptions of programs that run together have in common: names, arguments,
// environment, files and order. The description that runners take and the one that supervisors take both hold to it;
// what each has beyond that, each checks itself.
//
// It hides nothing. Any package that describes programs may import it.
package component

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// Component is what is checked of one program.
type Component struct {
	Name string
	// Args are all of them, and Env NAME=value.
	Args, Env []string
	// RestartOn names files, and After the components that must be ready before this one starts.
	RestartOn, After []string
	StopGrace        time.Duration
}

// Field is the path of a field of a component in an [*invalid.Error].
func Field(component, field string) string { return fmt.Sprintf("components[%s].%s", component, field) }

// Check returns an [*invalid.Error] for the first fault of components that run together. checkName says what is wrong
// with a name, and isFile whether there is a file of that name.
func Check(components []Component, checkName func(field, name string) error, isFile func(name string) bool) error {
	seen := map[string]bool{}
	for _, c := range components {
		if err := checkName("components.name", c.Name); err != nil {
			return err
		}
		if seen[c.Name] {
			return invalid.New("components.name", "%q is listed twice; names are unique", c.Name)
		}
		seen[c.Name] = true
		if err := c.check(isFile); err != nil {
			return err
		}
	}
	return nil
}

func (c Component) check(isFile func(name string) bool) error {
	for _, a := range c.Args {
		if strings.ContainsRune(a, 0) {
			return invalid.New(Field(c.Name, "args"), "%q holds a zero byte", a)
		}
	}
	for _, e := range c.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" || strings.ContainsRune(e, 0) {
			return invalid.New(Field(c.Name, "env"), "entry %q is not NAME=value", name)
		}
	}
	for _, f := range c.RestartOn {
		if !isFile(f) {
			return invalid.New(Field(c.Name, "restartOn"), "%q is not one of the workload's files", f)
		}
	}
	if c.StopGrace < 0 {
		return invalid.New(Field(c.Name, "stopGrace"), "%v is negative", c.StopGrace)
	}
	return nil
}

// CheckOrder refuses what After can never fulfill: unknown names and circles. It returns an [*invalid.Error].
func CheckOrder(components []Component) error {
	known := func(name string) bool {
		return slices.ContainsFunc(components, func(c Component) bool { return c.Name == name })
	}
	placed := map[string]bool{}
	for range components {
		for _, c := range components {
			free := true
			for _, a := range c.After {
				if !known(a) {
					return invalid.New(Field(c.Name, "after"), "%q is not a component of the workload", a)
				}
				free = free && placed[a]
			}
			placed[c.Name] = placed[c.Name] || free
		}
	}
	for _, c := range components {
		if !placed[c.Name] {
			return invalid.New(Field(c.Name, "after"), "waits for itself in a circle; it would never start")
		}
	}
	return nil
}
