package verbs

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/kinds"
)

const (
	// goalDeleted is the goal of waiting until an object is gone, and goalCreated until there is one.
	goalDeleted, goalCreated = "delete", "create"
	// goalPath is the goal of waiting for a field; [Waiting.field] says which.
	goalPath = "jsonpath"
)

// field is what a field of an object has to be.
type field struct {
	path *kinds.Path
	// value that it has to have; nil for any.
	value *string
}

// aim reads a goal as kubectl spells it: condition=NAME[=STATUS], delete, create or jsonpath=PATH[=VALUE]; the name of a
// condition alone will do, too. A condition that the kind does not have is refused, because it would be waited for in vain.
func (w *Waiting) aim(text string, known []string) error {
	if path, ok := strings.CutPrefix(text, goalPath+"="); ok {
		return w.aimAtField(path)
	}
	switch text {
	case goalDeleted, "deleted":
		w.Goal = goalDeleted
		return nil
	case goalCreated:
		w.Goal = goalCreated
		return nil
	}
	name, status, _ := strings.Cut(strings.TrimPrefix(text, "condition="), "=")
	i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
	if i < 0 {
		return fmt.Errorf("%q is neither a condition of %s (%s) nor delete, create or jsonpath=PATH=VALUE", text, kinds.Article(w.Kind.Singular), strings.Join(known, ", "))
	}
	w.Goal, w.Status = known[i], metav1.ConditionTrue
	if status == "" {
		return nil
	}
	for _, s := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
		if strings.EqualFold(string(s), status) {
			w.Status = s
			return nil
		}
	}
	return fmt.Errorf("%q: the status %q has to be True, False or Unknown", text, status)
}

func (w *Waiting) aimAtField(text string) error {
	text, value, valued := cutPath(text)
	path, err := kinds.ParsePath(text)
	if err != nil || valued && value == "" {
		return fmt.Errorf("%q has to be PATH=VALUE, such as jsonpath='{.status.version}'=v1.36.3", text)
	}
	w.Goal, w.field = goalPath, &field{path: path}
	if valued {
		w.field.value = &value
	}
	return nil
}

// cutPath cuts PATH=VALUE, where a path in braces may have an equals sign in it. It is pure.
func cutPath(text string) (path, value string, valued bool) {
	depth := 0
	for i, r := range text {
		switch {
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == '=' && depth == 0:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// is says whether the field of an object is as wanted. A field that is not there is not.
func (f *field) is(o client.Object) bool {
	return slices.ContainsFunc(f.path.Values(o), func(value any) bool { return f.value == nil || fmt.Sprint(value) == *f.value })
}

// wanted says in words what is waited for, after "waiting for NAME".
func (w *Waiting) wanted() string {
	switch w.Goal {
	case v1alpha1.ConditionReady:
		if w.status() == metav1.ConditionTrue {
			return "to be Ready"
		}
	case goalDeleted:
		return "to be deleted"
	case goalCreated:
		return "to be created"
	case goalPath:
		if w.field.value == nil {
			return "to have " + w.field.path.String()
		}
		return "to have " + w.field.path.String() + "=" + *w.field.value
	}
	if w.status() != metav1.ConditionTrue {
		return fmt.Sprintf("for %s=%s", w.Goal, w.status())
	}
	return "for " + w.Goal
}

// reached says in words what has been waited for.
func (w *Waiting) reached() string {
	switch w.Goal {
	case v1alpha1.ConditionReady:
		if w.status() == metav1.ConditionTrue {
			return "is ready"
		}
	case goalDeleted:
		return "is gone"
	case goalCreated:
		return "exists"
	case goalPath:
		return "has " + strings.TrimPrefix(w.wanted(), "to have ")
	}
	if w.status() != metav1.ConditionTrue {
		return fmt.Sprintf("has %s=%s", w.Goal, w.status())
	}
	return "has " + w.Goal
}

// status is that which the condition has to have.
func (w *Waiting) status() metav1.ConditionStatus {
	if w.Status == "" {
		return metav1.ConditionTrue
	}
	return w.Status
}
