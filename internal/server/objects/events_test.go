package objects

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/rest"
)

func TestToEvent(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0).UTC() }
	regarding := corev1.ObjectReference{Kind: "Cluster", Name: "demo", UID: types.UID("u")}
	want := rest.ObjectEvent{
		LastSeenAt: at(20), FirstSeenAt: at(10), Type: "Normal", Reason: "Ready", Message: "it is", Count: 3, Reporter: "kqueen",
		Object: rest.ObjectReference{Kind: "Cluster", Name: "demo", UID: "u"},
	}
	once := want
	once.LastSeenAt, once.Count = at(10), 1
	for name, tc := range map[string]struct {
		event eventsv1.Event
		want  rest.ObjectEvent
	}{
		"Series": {eventsv1.Event{
			EventTime: metav1.NewMicroTime(at(10)), Series: &eventsv1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(at(20))},
			ReportingController: "kqueen",
		}, want},
		"Once": {eventsv1.Event{EventTime: metav1.NewMicroTime(at(10)), ReportingController: "kqueen"}, once},
		"OldForm": {eventsv1.Event{
			DeprecatedFirstTimestamp: metav1.NewTime(at(10)), DeprecatedLastTimestamp: metav1.NewTime(at(20)), DeprecatedCount: 3,
			DeprecatedSource: corev1.EventSource{Component: "kqueen"},
		}, want},
		"NoTime": {eventsv1.Event{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(10))}, ReportingController: "kqueen"}, once},
	} {
		tc.event.Regarding, tc.event.Type, tc.event.Reason, tc.event.Note = regarding, "Normal", "Ready", "it is"
		if diff := cmp.Diff(tc.want, toEvent(&tc.event)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
