package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/platform/kube"
)

// objectsTimeout bounds all that is asked of the admin plane, which may be what does not work.
const objectsTimeout = 30 * time.Second

// addObjects adds the status of every object and what happened to them. It asks the admin plane itself, which answers when KQueen
// does not run.
func (b *bundle) addObjects(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, objectsTimeout)
	defer cancel()
	c, kinds, err := adminPlane(dir)
	if err != nil {
		b.note("objects", err)
		return nil
	}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		err := c.List(ctx, list)
		shown := make([]map[string]any, 0, len(list.Items))
		for _, o := range list.Items {
			shown = append(shown, outline(o.Object))
		}
		if err := b.addJSON("objects/"+strings.ToLower(kind)+".json", shown, err); err != nil {
			return err
		}
	}
	events := &eventsv1.EventList{}
	err = c.List(ctx, events)
	return b.addJSON("events.json", outlineEvents(events.Items), err)
}

// adminPlane is a client of the admin plane, and the kinds that KQueen keeps there.
func adminPlane(dir string) (client.Client, []string, error) {
	scheme, err := connection.NewScheme()
	if err != nil {
		return nil, nil, err
	}
	config, err := kube.Config(kube.Target{Kubeconfig: filepath.Join(dir, connection.AdminKubeconfig), Version: program.Version(), Warn: func(string) {}})
	if err != nil {
		return nil, nil, err
	}
	c, err := kube.Connect(config, scheme)
	if err != nil {
		return nil, nil, err
	}
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(scheme.KnownTypes(v1alpha1.GroupVersion))) {
		kind, list := strings.CutSuffix(name, "List")
		if list && scheme.Recognizes(v1alpha1.GroupVersion.WithKind(kind)) {
			kinds = append(kinds, kind)
		}
	}
	return c, kinds, nil
}

// outline is of an object what says how it is: who it is and its status. Its spec, its labels and its annotations are its
// owner's. It is pure.
func outline(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, field := range []string{"name", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp", "finalizers"} {
		if value, ok := metadata[field]; ok {
			kept[field] = value
		}
	}
	shown := map[string]any{"kind": object["kind"], "metadata": kept}
	if status, ok := object["status"]; ok {
		shown["status"] = status
	}
	return shown
}

// eventOutline is what happened.
type eventOutline struct {
	Time   time.Time `json:"time"`
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	Object string    `json:"object"`
	Count  int32     `json:"count,omitempty"`
	Note   string    `json:"note"`
}

// outlineEvents are events from the oldest to the newest. It is pure.
func outlineEvents(events []eventsv1.Event) []eventOutline {
	shown := make([]eventOutline, 0, len(events))
	for _, e := range events {
		o := eventOutline{Time: e.EventTime.Time, Type: e.Type, Reason: e.Reason, Note: e.Note}
		o.Object = fmt.Sprintf("%s %s/%s", e.Regarding.Kind, e.Regarding.Namespace, e.Regarding.Name)
		if o.Time.IsZero() {
			o.Time, o.Count = e.DeprecatedLastTimestamp.Time, e.DeprecatedCount
		}
		if e.Series != nil {
			o.Time, o.Count = e.Series.LastObservedTime.Time, e.Series.Count
		}
		shown = append(shown, o)
	}
	slices.SortStableFunc(shown, func(a, b eventOutline) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Object, b.Object)) })
	return shown
}
