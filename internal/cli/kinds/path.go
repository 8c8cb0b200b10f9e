package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Path leads to a field of objects, in the JSONPath of kubectl.
type Path struct {
	parsed *jsonpath.JSONPath
	// written is the path as the user wrote it.
	written string
}

// ParsePath reads a path. As in kubectl, {.metadata.name} may be written .metadata.name or metadata.name.
func ParsePath(text string) (*Path, error) {
	template := strings.TrimSpace(text)
	if !strings.HasPrefix(template, "{") {
		template = "{." + strings.TrimPrefix(template, ".") + "}"
	}
	p := &Path{parsed: jsonpath.New("path").AllowMissingKeys(true), written: text}
	if err := p.parsed.Parse(template); err != nil {
		return nil, err
	}
	if text == "" || template == "{.}" {
		return nil, fmt.Errorf("%q names no field", text)
	}
	return p, nil
}

// String is the path as the user wrote it.
func (p *Path) String() string { return p.written }

// Values returns what stands there in an object; nothing when there is no such field.
func (p *Path) Values(o client.Object) []any {
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil
	}
	found, err := p.parsed.FindResults(whole)
	if err != nil {
		return nil // a filter of a list that is not there
	}
	var values []any
	for _, results := range found {
		for _, result := range results {
			if result.IsValid() && result.CanInterface() && result.Interface() != nil {
				values = append(values, result.Interface())
			}
		}
	}
	return values
}

// SortBy sorts objects by a field. Numbers are compared as numbers and versions as versions; objects without the field
// come first.
func SortBy(objects []client.Object, p *Path) {
	keys := make(map[client.Object]any, len(objects))
	for _, o := range objects {
		if values := p.Values(o); len(values) > 0 {
			keys[o] = values[0]
		}
	}
	slices.SortStableFunc(objects, func(a, b client.Object) int { return compareValues(keys[a], keys[b]) })
}

// compareValues orders what JSON can hold. It is pure.
func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(order(a == nil), order(b == nil))
	}
	x, xIsNumber := number(a)
	y, yIsNumber := number(b)
	if xIsNumber && yIsNumber {
		return cmp.Compare(x, y)
	}
	left, right := fmt.Sprint(a), fmt.Sprint(b)
	v, err1 := semver.StrictNewVersion(TrimV(left))
	w, err2 := semver.StrictNewVersion(TrimV(right))
	if err1 == nil && err2 == nil {
		return v.Compare(w)
	}
	return strings.Compare(left, right)
}

// order puts what is so before what is not.
func order(so bool) int {
	if so {
		return 0
	}
	return 1
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
