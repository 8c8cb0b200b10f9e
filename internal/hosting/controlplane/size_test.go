package controlplane

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/runner"
)

// TestSizes: a larger control plane gets more of everything, and one of KQueen's own has no limit.
func TestSizes(t *testing.T) {
	type got struct {
		Memory, Share      int64
		Inflight, Mutating string
		Essential          bool
	}
	cases := map[string]struct {
		change func(*Description)
		want   got
	}{
		"nothing is said": {func(*Description) {}, got{3072 << 20, 160, "200", "100", false}},
		"small":           {func(d *Description) { d.Size = v1alpha1.ControlPlaneSmall }, got{1536 << 20, 80, "100", "50", false}},
		"medium":          {func(d *Description) { d.Size = v1alpha1.ControlPlaneMedium }, got{3072 << 20, 160, "200", "100", false}},
		"large":           {func(d *Description) { d.Size = v1alpha1.ControlPlaneLarge }, got{8192 << 20, 320, "400", "200", false}},
		"KQueen's own":    {func(d *Description) { d.Own = true }, got{0, 800, "", "", true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := description(t)
			tc.change(&d)
			w, err := Describe(d)
			if err != nil {
				t.Fatal(err)
			}
			if !w.Unprivileged {
				t.Error("it has privileges")
			}
			have := got{
				Inflight: argument(w.Components[0], "--max-requests-inflight="), Mutating: argument(w.Components[0], "--max-mutating-requests-inflight="),
				Essential: w.Essential,
			}
			for _, c := range w.Components {
				have.Memory += c.Resources.Limits.Memory
				have.Share += c.Resources.Requests.MilliCPU
				collects := slices.ContainsFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "GOMEMLIMIT=") })
				if collects != (c.Resources.Limits.Memory > 0) {
					t.Errorf("%s of %d bytes has the environment %v", c.Name, c.Resources.Limits.Memory, c.Env)
				}
			}
			if diff := cmp.Diff(tc.want, have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// argument is what follows a prefix among a component's arguments.
func argument(c runner.Component, prefix string) string {
	for _, a := range c.Args {
		if value, ok := strings.CutPrefix(a, prefix); ok {
			return value
		}
	}
	return ""
}
