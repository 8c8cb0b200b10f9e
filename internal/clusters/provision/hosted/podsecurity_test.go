package hosted_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
)

// TestPodSecurity: a new cluster has baseline, one from before there were levels keeps what it had, and what is said counts.
func TestPodSecurity(t *testing.T) {
	a := newAdmin(t)
	d := hosted.New(hosted.Config{Client: a, Secrets: a})
	tests := map[string]struct {
		reason     string
		have       *string // level of a control plane that is there
		said, want string
	}{
		"New":          {"No level is said.", nil, "", v1alpha1.PodSecurityBaseline},
		"NewSaid":      {"One is said.", nil, v1alpha1.PodSecurityRestricted, v1alpha1.PodSecurityRestricted},
		"Before":       {"Its pods may go on as they are.", new(""), "", ""},
		"BeforeSaid":   {"Until its user says otherwise.", new(""), v1alpha1.PodSecurityBaseline, v1alpha1.PodSecurityBaseline},
		"Unsaid":       {"It has what it was created with.", new(v1alpha1.PodSecurityBaseline), "", v1alpha1.PodSecurityBaseline},
		"MadeStronger": {"A change is passed on.", new(v1alpha1.PodSecurityBaseline), v1alpha1.PodSecurityRestricted, v1alpha1.PodSecurityRestricted},
		"MadeWeaker":   {"Whether it may is for admission to say.", new(v1alpha1.PodSecurityBaseline), v1alpha1.PodSecurityPrivileged, v1alpha1.PodSecurityPrivileged},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := a.want(t)
			cp := &v1alpha1.ControlPlane{}
			at := client.ObjectKey{Namespace: want.Namespace, Name: want.Name}
			if tc.have != nil {
				if err := d.Ensure(t.Context(), want); err != nil {
					t.Fatal(err)
				}
				if err := a.Get(t.Context(), at, cp); err != nil {
					t.Fatal(err)
				}
				cp.Spec.PodSecurity = *tc.have
				if err := a.Update(t.Context(), cp); err != nil {
					t.Fatal(err)
				}
			}
			want.PodSecurity = tc.said
			if err := d.Ensure(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			if err := a.Get(t.Context(), at, cp); err != nil || cp.Spec.PodSecurity != tc.want {
				t.Errorf("%s\ngot %q (%v), want %q", tc.reason, cp.Spec.PodSecurity, err, tc.want)
			}
		})
	}
}
