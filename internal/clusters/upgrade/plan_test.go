package upgrade

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
)

var update = flag.Bool("update", false, "write the golden files")

func version(t *testing.T, s string) release.Version {
	t.Helper()
	if s == "" {
		return release.Version{}
	}
	v, err := release.ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// known are releases; one that cannot be used has its problem after an equals sign.
func known(t *testing.T, words string) []Release {
	t.Helper()
	var all []Release
	for word := range strings.FieldsSeq(words) {
		name, problem, _ := strings.Cut(word, "=")
		all = append(all, Release{version(t, name), problem})
	}
	return all
}

func TestPath(t *testing.T) {
	for name, c := range map[string]struct {
		reason, from, to, releases string
		want, problem              string
	}{
		"Same":         {"There is nothing to do.", "v1.36.3", "v1.36.3", "", "", ""},
		"Patch":        {"One hop.", "v1.36.1", "v1.36.3", "v1.36.3", "v1.36.3", ""},
		"Minor":        {"One hop.", "v1.35.9", "v1.36.0", "v1.36.0 v1.35.10", "v1.36.0", ""},
		"Chain":        {"Each minor once, by its newest patch; 10 is newer than 9.", "v1.34.1", "v1.37.2", "v1.35.9 v1.35.10 v1.35.2 v1.36.3 v1.37.1 v1.37.2", "v1.35.10 v1.36.3 v1.37.2", ""},
		"ChainUnready": {"What cannot be used is left out.", "v1.35.1", "v1.37.2", "v1.36.4=torn v1.36.3 v1.37.2", "v1.36.3 v1.37.2", ""},
		"Missing":      {"What is missing is named, and how to get it.", "v1.34.1", "v1.37.2", "v1.36.1 v1.37.2", "", "no release of v1.35 is on this machine; build one with: kqueen release build v1.35.x"},
		"AllMissing":   {"All that is missing is named.", "v1.34.1", "v1.37.2", "v1.37.2", "", "no release of v1.36"},
		"OnlyUnready":  {"A release that is not usable says why.", "v1.35.1", "v1.37.2", "v1.36.4=torn v1.37.2", "", "release v1.36.4 cannot be used: torn"},
		"NoTarget":     {"The target first.", "v1.35.1", "v1.37.2", "v1.36.4", "", "release v1.37.2 is not on this machine; build it with: kqueen release build v1.37.2"},
		"BadTarget":    {"And why it cannot be used.", "v1.36.4", "v1.37.2", "v1.37.2=torn", "", "release v1.37.2 cannot be used: torn"},
		"Downgrade":    {"With the reason of the rule.", "v1.36.3", "v1.36.1", "v1.36.1", "", "v1.36.1 is older than v1.36.3: stay at v1.36.3 or choose a newer version; to go back use: kqueen cluster rollback"},
		"Major":        {"No rule is known.", "v1.36.3", "v2.0.0", "v2.0.0", "", "crosses a major version"},
		"FarAway":      {"A version that is not there costs nothing.", "v1.36.3", "v1.99999.0", "", "", "release v1.99999.0 is not on this machine"},
		"NotKnown":     {"A caller forgot.", "", "v1.36.3", "v1.36.3", "", "present version is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := Path(version(t, c.from), version(t, c.to), known(t, c.releases))
			got := strings.Trim(fmt.Sprint(path), "[]")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", c.reason, diff)
			}
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.problem)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "spec.version: ") {
				t.Errorf("%v does not name the field", err)
			}
		})
	}
}

// TestPlan compares whole plans with the files in testdata.
func TestPlan(t *testing.T) {
	const all = "v1.34.9 v1.35.4 v1.36.3 v1.37.2 v1.38.0"
	for name, c := range map[string]struct {
		from, to string
		backup   bool
		pools    []Pool
	}{
		"patch-without-pools": {"v1.36.1", "v1.36.3", true, nil},
		"minor-two-pools":     {"v1.35.4", "v1.36.3", true, []Pool{{Name: "web", Oldest: version(t, "v1.35.4")}, {Name: "batch", Oldest: version(t, "v1.35.4")}}},
		"chain-nodes-once":    {"v1.35.4", "v1.37.2", true, []Pool{{Name: "web", Oldest: version(t, "v1.35.4")}}},
		"chain-of-four":       {"v1.34.1", "v1.38.0", false, []Pool{{Name: "web", Oldest: version(t, "v1.34.1")}}},
		"old-nodes-first":     {"v1.36.3", "v1.37.2", true, []Pool{{Name: "web", Oldest: version(t, "v1.33.1")}}},
		"own-version-stays":   {"v1.36.3", "v1.37.2", true, []Pool{{Name: "own", Own: true, Oldest: version(t, "v1.35.4")}, {Name: "web", Oldest: version(t, "v1.36.3")}}},
		"own-version-too-old": {"v1.36.3", "v1.38.0", true, []Pool{{Name: "own", Own: true, Oldest: version(t, "v1.34.9")}}},
		"nothing":             {"v1.36.3", "v1.36.3", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := Plan(Wanted{From: version(t, c.from), To: version(t, c.to), Backup: c.backup, Releases: known(t, all), Pools: c.pools})
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, s := range steps {
				fmt.Fprintf(&got, "%-8s %-24s %s%s\n", s.State, s.Name, s.Why, map[bool]string{true: " (" + s.Message + ")"}[s.Message != ""])
			}
			golden(t, name, got.String())
		})
	}
	pools := make([]Pool, mostPools+1)
	if _, err := Plan(Wanted{From: version(t, "v1.36.1"), To: version(t, "v1.36.3"), Releases: known(t, all), Pools: pools}); err == nil {
		t.Error("any number of pools is taken")
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s\nbless with -update", diff)
	}
}

func TestTimed(t *testing.T) {
	at := func(s int) *metav1.Time { return &metav1.Time{Time: time.Unix(int64(s), 0)} }
	step := func(kind, object string, begun, ended int) v1alpha1.UpgradeStep {
		return v1alpha1.UpgradeStep{Kind: kind, Object: object, State: v1alpha1.StepDone, StartedTime: at(begun), FinishedTime: at(ended)}
	}
	earlier := []v1alpha1.UpgradeStep{
		step(v1alpha1.StepControlPlane, "", 0, 9), step(v1alpha1.StepNodePool, "web", 10, 70), step(v1alpha1.StepNodePool, "batch", 70, 75),
		{Kind: v1alpha1.StepBackup, State: v1alpha1.StepSkipped},
	}
	got := timed([]v1alpha1.UpgradeStep{
		{Kind: v1alpha1.StepBackup, LastSeconds: 3}, {Kind: v1alpha1.StepControlPlane}, {Kind: v1alpha1.StepNodePool, Object: "web"}, {Kind: v1alpha1.StepNodePool, Object: "new"},
	}, earlier)
	var seconds []int64
	for _, s := range got {
		seconds = append(seconds, s.LastSeconds)
	}
	if diff := cmp.Diff([]int64{0, 9, 60, 5}, seconds); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestHeld: a pool stays at the version of its own last step while the control plane goes on.
func TestHeld(t *testing.T) {
	u := &v1alpha1.Upgrade{Status: v1alpha1.UpgradeStatus{FromVersion: "v1.34.1"}}
	steps, err := Plan(Wanted{
		From: version(t, "v1.34.1"), To: version(t, "v1.38.0"), Releases: known(t, "v1.35.4 v1.36.3 v1.37.2 v1.38.0"), Pools: []Pool{{Name: "web", Oldest: version(t, "v1.34.1")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	u.Status.Steps = steps
	var got []string
	for i, s := range steps {
		if s.Kind == v1alpha1.StepControlPlane {
			got = append(got, fmt.Sprintf("%s held at %s, its turn %v", s.Version, held(u, i, "web"), turn(steps, i, "web") > i))
		}
	}
	want := []string{"v1.35.4 held at v1.34.1, its turn true", "v1.36.3 held at v1.34.1, its turn true", "v1.37.2 held at v1.34.1, its turn true", "v1.38.0 held at v1.37.2, its turn true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if keepsOwn(steps, 0, "v1.20.0") || !keepsOwn(steps, 0, "v1.33.0") || !keepsOwn(steps, len(steps)-1, "v1.20.0") {
		t.Error("a version of its own that is too old is kept, or one that fits is not")
	}
}
