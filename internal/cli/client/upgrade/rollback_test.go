package upgrade

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestNextName: the same command twice is one upgrade, and a later one, after the cluster has gone back, is another.
func TestNextName(t *testing.T) {
	was := func(name, cluster string, ended int) client.Object {
		u := &v1alpha1.Upgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.UpgradeSpec{ClusterName: cluster}}
		if ended > 0 {
			at := metav1.NewTime(time.Unix(int64(ended), 0))
			u.Status.CompletionTime = &at
		}
		return u
	}
	up, back, second := was("demo-v1.36.3", "demo", 1), was("demo-back-to-v1.35.4", "demo", 2), was("demo-v1.36.3-2", "demo", 3)
	for name, c := range map[string]struct {
		have []client.Object
		want string
	}{
		"First":     {nil, "demo-v1.36.3"},
		"GoesOn":    {[]client.Object{was("demo-v1.36.3", "demo", 0)}, "demo-v1.36.3"},
		"Again":     {[]client.Object{up}, "demo-v1.36.3"},
		"Others":    {[]client.Object{up, was("other-v1.36.3", "other", 9)}, "demo-v1.36.3"},
		"AfterBack": {[]client.Object{up, back}, "demo-v1.36.3-2"},
		"Last":      {[]client.Object{second, up, back}, "demo-v1.36.3-2"},
		"BackTwice": {[]client.Object{second, up, back, was("demo-back-to-v1.35.4-2", "demo", 4)}, "demo-v1.36.3-3"},
	} {
		u := &v1alpha1.Upgrade{ObjectMeta: metav1.ObjectMeta{Name: "demo-v1.36.3"}, Spec: v1alpha1.UpgradeSpec{ClusterName: "demo"}}
		if got := nextName(c.have, u); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
