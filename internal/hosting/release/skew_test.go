package release

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantSkew compares an error with the parts of a SkewError; nil parts mean no error.
func wantSkew(t *testing.T, reason string, err error, field string, parts []string) {
	t.Helper()
	if parts == nil {
		if err != nil {
			t.Errorf("%s: %v", reason, err)
		}
		return
	}
	var skew *SkewError
	if !errors.As(err, &skew) {
		t.Fatalf("%s: got %v, want a SkewError", reason, err)
	}
	if skew.Field != field || skew.Reason == "" || skew.Fix == "" {
		t.Errorf("%s: field %q, reason %q, fix %q; want field %q and no empty part", reason, skew.Field, skew.Reason, skew.Fix, field)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q does not say %q", reason, err, part)
		}
	}
}

func TestCheckUpgrade(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, from, to string
		want             []string
	}{
		"Same":              {"nothing to do", "v1.36.3", "v1.36.3", nil},
		"NewerPatch":        {"patches go up", "v1.36.1", "v1.36.3", nil},
		"NextMinor":         {"one minor at a time", "v1.35.4", "v1.36.3", nil},
		"NextMinorToZero":   {"the patch does not matter across minors", "v1.35.14", "v1.36.0", nil},
		"FromCandidate":     {"a candidate becomes its release", "v1.36.0-rc.1", "v1.36.0", nil},
		"ToCandidate":       {"the policy knows minors only", "v1.35.4", "v1.36.0-rc.1", nil},
		"OlderPatch":        {"an upgrade goes forward", "v1.36.3", "v1.36.1", []string{"v1.36.1 is older than v1.36.3", "kqueen cluster rollback"}},
		"BackToCandidate":   {"a candidate is older than its release", "v1.36.0", "v1.36.0-rc.1", []string{"is older than"}},
		"OlderMinor":        {"an upgrade goes forward", "v1.36.3", "v1.35.4", []string{"is older than"}},
		"SkipOne":           {"the way is named", "v1.34.0", "v1.36.3", []string{"skips a minor", "upgrade to v1.35.x first"}},
		"SkipTwo":           {"the whole way is named", "v1.33.6", "v1.36.3", []string{"v1.34.x, v1.35.x first"}},
		"SkipMany":          {"a long way is cut in the middle", "v1.3.0", "v1.36.3", []string{"v1.4.x, v1.5.x, …, v1.35.x first"}},
		"SkipAbsurdlyMany":  {"the message stays short", "v1.3.0", "v1.99999.0", []string{"v1.4.x, v1.5.x, …, v1.99998.x first"}},
		"NextMajor":         {"no rule is known for that", "v1.99.0", "v2.0.0", []string{"crosses a major", "v1.100"}},
		"PresentNotSet":     {"a caller forgot", "", "v1.36.3", []string{"present version is not known"}},
		"WantedNotSet":      {"a caller forgot", "v1.36.3", "", []string{"wanted version is not set"}},
		"MinorNotByDecimal": {"9 is followed by 10", "v1.9.0", "v1.10.0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			wantSkew(t, tc.reason, CheckUpgrade(orZero(t, tc.from), orZero(t, tc.to)), "version", tc.want)
		})
	}
}

func orZero(t *testing.T, s string) Version {
	t.Helper()
	if s == "" {
		return Version{}
	}
	return mustVersion(t, s)
}

// TestCheckComponentDistance walks the whole policy: per component, which distances in
// minors from the API server are allowed.
func TestCheckComponentDistance(t *testing.T) {
	apiserver := mustVersion(t, "v1.36.1")
	for component, want := range map[string]string{
		"kube-apiserver":           "-1 0 1",
		"kube-controller-manager":  "-1 0",
		"kube-scheduler":           "-1 0",
		"cloud-controller-manager": "-1 0",
		"kubelet":                  "-3 -2 -1 0",
		"kube-proxy":               "-3 -2 -1 0",
		"kubectl":                  "-1 0 1",
	} {
		var allowed []string
		for distance := -5; distance <= 5; distance++ {
			v := mustVersion(t, fmt.Sprintf("v1.%d.9", 36+distance))
			if CheckComponent(apiserver, component, v) == nil {
				allowed = append(allowed, fmt.Sprint(distance))
			}
		}
		if diff := cmp.Diff(want, strings.Join(allowed, " ")); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", component, diff)
		}
	}
}

func TestCheckComponent(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, apiserver, component, v string
		want                            []string
	}{
		"NewerPatch":         {"only minors count", "v1.36.1", "kubelet", "v1.36.3", nil},
		"CandidateOfSame":    {"only minors count", "v1.36.1", "kubelet", "v1.36.0-rc.1", nil},
		"TooNew":             {"the message says what fits", "v1.35.4", "kubelet", "v1.36.3", []string{"too new", "v1.32.x to v1.35.x", "upgrade the API server first"}},
		"TooOld":             {"the message says what fits", "v1.36.3", "kube-scheduler", "v1.34.0", []string{"too old", "v1.35.x to v1.36.x"}},
		"OldKubeletTwo":      {"before 1.25 two minors were the limit", "v1.26.0", "kubelet", "v1.24.0", nil},
		"OldKubeletThree":    {"before 1.25 two minors were the limit", "v1.27.0", "kubelet", "v1.24.0", []string{"too old"}},
		"OldKubeProxyThree":  {"before 1.25 two minors were the limit", "v1.27.0", "kube-proxy", "v1.24.0", []string{"too old"}},
		"NewKubeletThree":    {"from 1.25 three minors are the limit", "v1.28.0", "kubelet", "v1.25.0", nil},
		"OtherMajor":         {"no rule is known for that", "v2.36.0", "kubelet", "v1.36.0", []string{"another major"}},
		"FirstMinors":        {"no number below zero in the message", "v1.1.0", "kube-scheduler", "v1.2.0", []string{"v1.0.x to v1.1.x"}},
		"APIServerNotSet":    {"a caller forgot", "", "kubelet", "v1.36.0", []string{"API server is not known"}},
		"ComponentNotSet":    {"a caller forgot", "v1.36.0", "kubelet", "", []string{"version is not set"}},
		"KubeadmHasNoRule":   {"the policy does not name it", "v1.36.0", "kubeadm", "v1.36.0", []string{"no version rule", "kube-scheduler, kubectl, kubelet"}},
		"UnknownHasNoRule":   {"a typing error is not allowed silently", "v1.36.0", "kublet", "v1.36.0", []string{"no version rule"}},
		"KubectlOneNewer":    {"kubectl may be ahead", "v1.35.0", "kubectl", "v1.36.0", nil},
		"KubectlTooNewWords": {"both sides are named", "v1.34.0", "kubectl", "v1.36.0", []string{"v1.33.x to v1.35.x"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckComponent(orZero(t, tc.apiserver), tc.component, orZero(t, tc.v))
			wantSkew(t, tc.reason, err, tc.component, tc.want)
		})
	}
}

func TestUpgradableFrom(t *testing.T) {
	for in, want := range map[string]string{
		"v1.36.3":      "v1.35.x, v1.36.0-v1.36.2",
		"v1.36.1":      "v1.35.x, v1.36.0",
		"v1.36.0":      "v1.35.x",
		"v1.36.0-rc.1": "v1.35.x",
		"v1.0.2":       "v1.0.0-v1.0.1",
		"v1.0.0":       "no earlier release",
	} {
		if diff := cmp.Diff(want, UpgradableFrom(mustVersion(t, in))); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", in, diff)
		}
	}
}

func TestCheckRollback(t *testing.T) {
	for name, c := range map[string]struct{ from, to, emulated, want string }{
		"Patch":            {"v1.36.3", "v1.36.1", "", ""},
		"Minor":            {"v1.36.3", "v1.35.4", "v1.35", ""},
		"MinorNotEmulated": {"v1.36.3", "v1.35.4", "", "v1.35.4 is older than v1.36.3, which does not emulate v1.35"},
		"OtherEmulated":    {"v1.36.3", "v1.35.4", "v1.34", "does not emulate v1.35"},
		"TwoMinors":        {"v1.36.3", "v1.34.4", "v1.34", "goes back by more than one minor version: go back to v1.35.x first"},
		"Major":            {"v2.0.1", "v1.36.3", "v1.36", "goes back by more than one"},
		"Same":             {"v1.36.3", "v1.36.3", "", "is not older"},
		"Newer":            {"v1.36.3", "v1.36.4", "", "is not older"},
		"Unset":            {"", "v1.36.4", "", "is not older"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := CheckRollback(orZero(t, c.from), orZero(t, c.to), c.emulated); err != nil {
				got = err.Error()
			}
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCheckEmulation(t *testing.T) {
	for emulated, want := range map[string]bool{"": true, "v1.36": true, "v1.35": true, "v1.34": false, "v1.37": false, "1.35": false, "v2.35": false} {
		if err := CheckEmulation(orZero(t, "v1.36.3"), emulated); (err == nil) != want {
			t.Errorf("%q: got %v", emulated, err)
		}
	}
}
