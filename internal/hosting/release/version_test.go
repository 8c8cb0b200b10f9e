package release

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustVersion(tb testing.TB, s string) Version {
	tb.Helper()
	v, err := ParseVersion(s)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestParseVersion(t *testing.T) {
	type want struct{ text, err string }
	for name, tc := range map[string]struct {
		reason, in string
		want       want
	}{
		"Release":       {"the usual form", "v1.36.3", want{text: "v1.36.3"}},
		"PreRelease":    {"candidates are versions as well", "v1.37.0-rc.1", want{text: "v1.37.0-rc.1"}},
		"Hyphens":       {"a pre-release may have hyphens and dots", "v1.37.0-a-b.c.0", want{text: "v1.37.0-a-b.c.0"}},
		"Empty":         {"nothing was set", "", want{err: "version is empty"}},
		"NoV":           {"the message has the right form", "1.36.3", want{err: `write it as "v1.36.3"`}},
		"TwoNumbers":    {"the message counts", "v1.36", want{err: "2 of the three numbers"}},
		"FourNumbers":   {"the message counts", "v1.36.3.1", want{err: "4 of the three numbers"}},
		"BuildMetadata": {"a folder name has no plus", "v1.36.3+k3s1", want{err: `leave out "+k3s1"`}},
		"LeadingZero":   {"two texts may not be one version", "v1.036.3", want{err: "cannot be read"}},
		"Negative":      {"what follows a hyphen is a pre-release", "v1.-36.3", want{err: "2 of the three numbers"}},
		"Path":          {"a version is a folder name", "v1.36.3-../../etc", want{err: "cannot be read"}},
		"Blank":         {"no trimming", " v1.36.3", want{err: "cannot be read"}},
		"Newline":       {"no trimming", "v1.36.3\n", want{err: "cannot be read"}},
		"BeforeOne":     {"v0.0.0 would look like not set", "v0.0.0", want{err: "before v1"}},
		"Huge":          {"sums may not overflow", "v1.18446744073709551615.0", want{err: "above 99999"}},
		"Long":          {"a folder name ends somewhere", "v1.36.3-" + strings.Repeat("a", 80), want{err: "longer than 64"}},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := ParseVersion(tc.in)
			if tc.want.err == "" {
				if err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				if diff := cmp.Diff(tc.want.text, v.String()); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want.err) {
				t.Errorf("%s: error %v, want one with %q", tc.reason, err, tc.want.err)
			}
			if !v.IsZero() {
				t.Errorf("%s: a refused version came back as %s", tc.reason, v)
			}
		})
	}
}

func TestVersionOrder(t *testing.T) {
	want := []string{"v1.9.9", "v1.36.0-alpha.1", "v1.36.0-rc.2", "v1.36.0-rc.10", "v1.36.0", "v1.36.3", "v1.36.12", "v2.0.0"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int { return mustVersion(t, a).Compare(mustVersion(t, b)) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestVersionAsText(t *testing.T) {
	type doc struct {
		V Version            `json:"v,omitzero"`
		M map[Version]string `json:"m,omitempty"`
	}
	v := mustVersion(t, "v1.36.3-rc.1")
	in := doc{V: v, M: map[Version]string{v: "x"}}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"v":"v1.36.3-rc.1","m":{"v1.36.3-rc.1":"x"}}`, string(data)); diff != "" {
		t.Errorf("marshal: -want, +got:\n%s", diff)
	}
	var out doc
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if out.V != in.V || out.M[v] != "x" {
		t.Errorf("read back %+v, want %+v", out, in)
	}
	if _, err := json.Marshal(map[string]Version{"v": {}}); err == nil {
		t.Error("a version that is not set was written")
	}
	if err := json.Unmarshal([]byte(`{"v":"1.36.3"}`), &out); err == nil {
		t.Error("a text without v was read")
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, seed := range []string{"v1.36.3", "v1.37.0-rc.1", "1.2.3", "v1.2", "v1.2.3+x", "v1.2.3-..", "v9.9.9-/x", "vv1.2.3", "v1.99999.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVersion(s)
		if err != nil {
			return
		}
		if v.String() != s {
			t.Errorf("%q is read as %q", s, v)
		}
		if filepath.Base(s) != s || strings.Contains(s, tempMark) || strings.HasPrefix(s, ".") {
			t.Errorf("%q cannot be a folder of the store", s)
		}
		if v.Compare(v) != 0 || CheckUpgrade(v, v) != nil {
			t.Errorf("%q differs from itself", s)
		}
	})
}
