// Package conversion brings stored objects of an earlier version of KQueen to the fields and values of this one. It knows which
// field has which name now, and how its value is written.
//
// It is pure: package engine, which alone imports it, reads and writes the objects.
package conversion

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Error is a value that cannot be converted. It names the object, the field, the problem and the remedy.
type Error struct {
	// Kind, Namespace and Name of the object.
	Kind, Namespace, Name string
	// Field is the path of the value by its former name.
	Field, Problem string
}

// Error says all of it.
func (e *Error) Error() string {
	of, edit := e.Name, fmt.Sprintf("kubectl edit %s.kqueen.io %s", strings.ToLower(e.Kind), e.Name)
	if e.Namespace != "" {
		of, edit = e.Namespace+"/"+e.Name, edit+" --namespace "+e.Namespace
	}
	return fmt.Sprintf("%s %s: %s: %s; correct it on the admin plane (%s) and start KQueen again", e.Kind, of, e.Field, e.Problem, edit)
}

// step is what has changed about one field.
type step struct {
	// from is the path of the field before, with dots.
	from string
	// to is its path now; empty when it has kept its name.
	to string
	// value writes the value anew; nil keeps it. A value that was written anew is kept too.
	value func(any) (any, error)
	// only says which objects the step is for; nil for all of the kind.
	only func(map[string]any) bool
}

// Convert returns an object as it is stored by this version, and whether that is anything new; the argument stays as it is. What it
// has converted it converts no further, so that it may be called again after a crash at any instruction. The error joins
// an *[Error] for each value that cannot be converted.
func Convert(stored *unstructured.Unstructured) (*unstructured.Unstructured, bool, error) {
	object := stored.DeepCopy()
	changed := false
	var problems []error
	for _, s := range steps()[object.GetKind()] {
		did, err := s.apply(object.Object)
		if err != nil {
			problems = append(problems, &Error{
				Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Field: s.from, Problem: err.Error(),
			})
		}
		changed = changed || did
	}
	if len(problems) > 0 {
		return nil, false, joined(problems)
	}
	return object, changed, nil
}

// apply converts one field in place.
func (s step) apply(object map[string]any) (changed bool, err error) {
	from, to := strings.Split(s.from, "."), strings.Split(s.from, ".")
	if s.to != "" {
		to = strings.Split(s.to, ".")
	}
	value, there, err := unstructured.NestedFieldNoCopy(object, from...)
	if err != nil || !there || s.only != nil && !s.only(object) {
		return false, nil //nolint:nilerr // there is no such field where its parent is no object
	}
	now := value
	if s.value != nil {
		if now, err = s.value(value); err != nil {
			return false, err
		}
	}
	if s.to == "" {
		if now == value {
			return false, nil
		}
		return true, unstructured.SetNestedField(object, now, to...)
	}
	unstructured.RemoveNestedField(object, from...)
	// What has the name of now was written by a user who knows it.
	if _, there, _ := unstructured.NestedFieldNoCopy(object, to...); there {
		return true, nil
	}
	return true, unstructured.SetNestedField(object, runtime.DeepCopyJSONValue(now), to...)
}
