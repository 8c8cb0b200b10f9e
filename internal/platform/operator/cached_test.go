package operator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shows is a reader that answers each list with the next of its answers, and then with the last one: resource versions by UID.
type shows struct {
	client.Reader
	answers []map[types.UID]string
}

func (s *shows) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for uid, version := range s.answers[0] {
		out := list.(*corev1.ConfigMapList)
		out.Items = append(out.Items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}})
	}
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return nil
}

// TestWaitCached: a cache is waited for until it shows what there is, and not for what is gone.
func TestWaitCached(t *testing.T) {
	type answers = []map[types.UID]string
	tests := map[string]struct {
		direct, cached answers
		want           bool
		took           time.Duration
	}{
		"nothing is there":   {answers{{}}, answers{{}}, true, 0},
		"as new":             {answers{{"a": "12"}}, answers{{"a": "12"}}, true, 0},
		"newer by a digit":   {answers{{"a": "9"}}, answers{{"a": "10"}}, true, 0},
		"others are there":   {answers{{"a": "9"}}, answers{{"a": "9", "b": "4"}}, true, 0},
		"older, then as new": {answers{{"a": "12"}}, answers{{"a": "9"}, {"a": "12"}}, true, agreeEvery},
		"missing, then new":  {answers{{"a": "12", "b": "3"}}, answers{{"b": "3"}, {"a": "12"}}, true, agreeEvery},
		"changes all along":  {answers{{"a": "5"}, {"a": "6"}, {"a": "7"}}, answers{{"a": "4"}, {"a": "5"}, {"a": "6"}}, true, agreeEvery},
		"deleted meanwhile":  {answers{{"a": "12", "b": "3"}, {"b": "3"}}, answers{{"b": "3"}}, true, 0},
		"stays older":        {answers{{"a": "12"}}, answers{{"a": "9"}}, false, time.Second},
		"is of no order":     {answers{{"a": "x"}}, answers{{"a": "y"}}, false, time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				got, err := WaitCached(ctx, &shows{answers: tc.direct}, &shows{answers: tc.cached}, &corev1.ConfigMapList{})
				if got != tc.want || err != nil || time.Since(began) != tc.took {
					t.Errorf("got %t, %v after %s; want %t after %s", got, err, time.Since(began), tc.want, tc.took)
				}
			})
		})
	}
}
