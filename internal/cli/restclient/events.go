package restclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
)

const (
	// pageOfEvents is how many events are asked for at once, and mostEvents how many are read, the newest.
	pageOfEvents = 500
	mostEvents   = 10_000
)

// listEvents lists what happened in an organization. Of fields it selects by regarding.name alone.
func (c *restClient) listEvents(ctx context.Context, list *eventsv1.EventList, options []client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	organization, ok := organizationOf(o.Namespace)
	if !ok {
		return refused("listing events of " + o.Namespace)
	}
	name, err := exactly(o.FieldSelector, "regarding.name")
	if err != nil {
		return err
	}
	var all []rest.ObjectEvent
	filter := kqueen.EventFilter{Paging: kqueen.Paging{Limit: pageOfEvents}, Name: name}
	for {
		page, err := c.api.ListEvents(ctx, organization, filter)
		if err != nil {
			return explain(err, "Event", name)
		}
		all = append(all, page.Items...)
		if page.Cursor == "" || page.Cursor == filter.Cursor || len(all) >= mostEvents {
			break
		}
		filter.Cursor = page.Cursor
	}
	list.Items = make([]eventsv1.Event, 0, len(all))
	seen := map[types.UID]bool{}
	for i := range all {
		if e := eventOf(&all[i], o.Namespace); !seen[e.UID] {
			seen[e.UID] = true
			list.Items = append(list.Items, e)
		}
	}
	return nil
}

// eventOf is what the admin plane would have said. The API tells no name of an event: the one here stays while nothing
// but its time and number change.
func eventOf(from *rest.ObjectEvent, namespace string) eventsv1.Event {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		from.Object.Kind, from.Object.Name, from.Object.UID, from.Type, from.Reason, from.Message, from.Reporter, from.FirstTime.UTC().Format(time.RFC3339Nano),
	}, "\x00")))
	id := hex.EncodeToString(sum[:8])
	e := eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name: from.Object.Name + "." + id, Namespace: namespace, UID: types.UID(id),
			CreationTimestamp: metav1.NewTime(from.FirstTime.Local()), ResourceVersion: fmt.Sprintf("%d", from.Time.UnixMicro()),
		},
		EventTime: metav1.NewMicroTime(from.FirstTime.Local()), ReportingController: from.Reporter,
		Type: from.Type, Reason: from.Reason, Note: from.Message,
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: from.Object.Kind, Namespace: namespace, Name: from.Object.Name, UID: types.UID(from.Object.UID),
		},
	}
	if !slices.Contains(ourKinds(), from.Object.Kind) {
		e.Regarding.APIVersion = ""
	}
	if from.Count > 1 || from.Time.After(from.FirstTime) {
		e.Series = &eventsv1.EventSeries{Count: from.Count, LastObservedTime: metav1.NewMicroTime(from.Time.Local())}
	}
	return e
}

// ourKinds are those that something may happen to that users see.
func ourKinds() []string {
	return []string{"Organization", "Provisioner", "Cluster", "ControlPlane", "NodePool", "Machine"}
}
