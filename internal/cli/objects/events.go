package objects

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

// events lists what happened in an organization. Of a set it heeds the organization and the name.
func (c *Client) events(ctx context.Context, s Set) ([]client.Object, error) {
	filter := kqueen.EventFilter{Paging: kqueen.Paging{Limit: pageOfEvents}, Name: s.Name}
	var all []client.Object
	seen := map[types.UID]bool{}
	for read := 0; ; {
		page, err := c.api.ListEvents(ctx, s.Organization, filter)
		if err != nil {
			return nil, explain(err)
		}
		for i := range page.Items {
			if e := eventOf(&page.Items[i], v1alpha1.NamespacePrefix+s.Organization); !seen[e.UID] {
				seen[e.UID] = true
				all = append(all, e)
			}
		}
		read += len(page.Items)
		if page.Cursor == "" || page.Cursor == filter.Cursor || read >= mostEvents {
			return all, nil
		}
		filter.Cursor = page.Cursor
	}
}

// eventOf is an event as Kubernetes has it. The API tells no name of an event: the one here stays while nothing
// but its time and number change.
func eventOf(from *rest.ObjectEvent, namespace string) *eventsv1.Event {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		from.Object.Kind, from.Object.Name, from.Object.UID, from.Type, from.Reason, from.Message, from.Reporter, from.FirstSeenAt.UTC().Format(time.RFC3339Nano),
	}, "\x00")))
	id := hex.EncodeToString(sum[:8])
	e := &eventsv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: eventsv1.SchemeGroupVersion.String(), Kind: eventKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: from.Object.Name + "." + id, Namespace: namespace, UID: types.UID(id),
			CreationTimestamp: metav1.NewTime(from.FirstSeenAt.Local()), ResourceVersion: fmt.Sprintf("%d", from.LastSeenAt.UnixMicro()),
		},
		EventTime: metav1.NewMicroTime(from.FirstSeenAt.Local()), ReportingController: from.Reporter,
		Type: from.Type, Reason: from.Reason, Note: from.Message,
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: from.Object.Kind, Namespace: namespace, Name: from.Object.Name, UID: types.UID(from.Object.UID),
		},
	}
	if !slices.Contains(ourKinds(), from.Object.Kind) {
		e.Regarding.APIVersion = ""
	}
	if from.Count > 1 || from.LastSeenAt.After(from.FirstSeenAt) {
		e.Series = &eventsv1.EventSeries{Count: from.Count, LastObservedTime: metav1.NewMicroTime(from.LastSeenAt.Local())}
	}
	return e
}

// ourKinds are those that something may happen to that users see.
func ourKinds() []string {
	return []string{"Organization", "Provisioner", "Cluster", "ControlPlane", "NodePool", "Machine", "Backup", "BackupSchedule", "Restore", "Rehearsal", "Rotation", "Upgrade"}
}
