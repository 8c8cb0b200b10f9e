package runner

import (
	"fmt"
	"strings"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// Reference stands in an argument or a file for what only the runner knows. It is written $(kind:name).
type Reference struct {
	Kind Kind
	Name string // of a file or a port
}

// Kind is what a reference is replaced by.
type Kind string

// Kinds of references.
const (
	KindFile  Kind = "file"  // the path at which the programs find a file
	KindBind  Kind = "bind"  // the address on which the program that has the port listens
	KindPort  Kind = "port"  // the number of a port
	KindLocal Kind = "local" // address:number at which the workload's own programs reach a port

	KindHandover Kind = "handover" // the folder in which a port is handed over; in HandOver.Args alone
	KindOwn      Kind = "own"      // address:number at which one process of a component alone listens; in HandOver.Args alone
)

// FileRef is the path of a file.
func FileRef(name string) string { return Reference{KindFile, name}.String() }

// BindRef is the address on which the program that has the port listens.
func BindRef(port string) string { return Reference{KindBind, port}.String() }

// PortRef is the number of a port.
func PortRef(port string) string { return Reference{KindPort, port}.String() }

// LocalRef is address:number at which the workload's own programs reach a port.
func LocalRef(port string) string { return Reference{KindLocal, port}.String() }

// HandoverRef is the folder in which a port is handed over.
func HandoverRef(port string) string { return Reference{KindHandover, port}.String() }

// OwnRef is address:number at which one process alone listens.
func OwnRef(port string) string { return Reference{KindOwn, port}.String() }

// String is how the reference is written.
func (r Reference) String() string { return opening + string(r.Kind) + ":" + r.Name + closing }

const opening, closing = "$(", ")"

// Expand replaces the references in a text by what resolve says. What looks like a reference and is none is an error.
func Expand(text string, resolve func(Reference) (string, error)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, opening)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		inner, after, closed := strings.Cut(rest, closing)
		kind, name, named := strings.Cut(inner, ":")
		if !closed || !named {
			return "", fmt.Errorf("%q is no reference", opening+inner)
		}
		value, err := resolve(Reference{Kind(kind), name})
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = after
	}
}

// check is what resolves references while a workload is validated.
func (w Workload) check(field string) func(Reference) (string, error) {
	return func(r Reference) (string, error) {
		switch r.Kind {
		case KindFile:
			if _, ok := w.Files[r.Name]; !ok {
				return "", invalid.New(field, "%s: %q is not one of the workload's files", r, r.Name)
			}
		case KindBind, KindPort, KindLocal:
			if !w.hasPort(r.Name) {
				return "", invalid.New(field, "%s: %q is not one of the workload's ports", r, r.Name)
			}
		case KindHandover, KindOwn:
			return "", invalid.New(field, "%s: is for the arguments of what is handed over alone", r)
		default:
			return "", invalid.New(field, "%s: %q is no kind of reference; want file, bind, port or local", r, r.Kind)
		}
		return "", nil
	}
}
