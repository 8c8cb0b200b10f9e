package controlplane

import (
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestExpiry: half a year before an authority expires it is said, and what to do; the condition goes back when another one has its place.
func TestExpiry(t *testing.T) {
	now := time.Date(2035, time.May, 4, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	cp := &v1alpha1.ControlPlane{}
	cp.Name = "demo"
	for _, tc := range []struct {
		name   string
		left   time.Duration
		status string
		says   string
	}{
		{"ca", 181 * day, "", ""},
		{"ca", 180 * day, "True", "kqueen cluster rotate ca demo"},
		{"front-proxy-ca", day, "True", "it cannot be rotated"},
		{"ca", 3650 * day, "False", "no authority expires soon"},
	} {
		noteExpiry(cp, tc.name, now.Add(tc.left), now)
		c := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionAuthorityExpiring)
		if (c == nil) != (tc.status == "") || c != nil && (string(c.Status) != tc.status || !strings.Contains(c.Message, tc.says)) {
			t.Errorf("%s with %s left: %+v", tc.name, tc.left, c)
		}
		if !cp.Status.AuthorityExpirationTime.Time.Equal(now.Add(tc.left)) {
			t.Errorf("it expires at %s", cp.Status.AuthorityExpirationTime)
		}
	}
}
