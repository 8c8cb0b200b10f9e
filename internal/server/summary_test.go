package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
)

const summary = "/api/v1/summaries/clusters"

// summed is a summary as a caller is told it, word for word.
func (h *fixture) summed(t *testing.T, who, query string) string {
	t.Helper()
	a := h.do(t.Context(), t, who, "GET", summary+query, "")
	if a.status != http.StatusOK {
		t.Fatalf("%s asks for %s: %d %s", who, query, a.status, a.body)
	}
	return string(a.body)
}

func (a answer) summary(t *testing.T) (s rest.ClusterSummary) {
	t.Helper()
	if err := json.Unmarshal(a.body, &s); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d is no summary: %s", a.status, a.body)
	}
	return s
}

// TestSummary: what is counted is what the caller may list, as far as they ask for it.
func TestSummary(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	for _, organization := range []string{"blue", "red", "green"} {
		for n := range 2 {
			h.cluster(t, organization, fmt.Sprintf("su-%s-%d", organization, n))
		}
	}
	const mine = "?name=su-"
	h.await(t, func() bool { return h.do(t.Context(), t, "admin", "GET", summary+mine, "").summary(t).Total == 6 })
	items := func(all ...rest.Count) rest.Counts { return rest.Counts{Items: append([]rest.Count{}, all...)} }
	organizations := func(names ...string) (all rest.ClusterSummary) {
		all.ByOrganization = items()
		for _, name := range names {
			all.ByOrganization.Items = append(all.ByOrganization.Items, rest.Count{Value: name, Count: 2})
		}
		all.Total = 2 * len(names)
		all.ByReadiness, all.ByVersion, all.ByProvisioner = items(), items(), items()
		if all.Total > 0 {
			all.ByReadiness = items(rest.Count{Value: rest.CountedUnknown, Count: all.Total})
			all.ByVersion = items(rest.Count{Value: "v1.36.3", Count: all.Total})
			all.ByProvisioner = items(rest.Count{Value: "hosted", Count: all.Total})
		}
		return all
	}
	for name, tc := range map[string]struct {
		who, query string
		want       rest.ClusterSummary
	}{
		"All":      {"admin", mine, organizations("blue", "green", "red")},
		"Owner":    {local, mine, organizations("blue", "green", "red")},
		"Several":  {"viewer", mine, organizations("blue", "green")},
		"One":      {"operator", mine, organizations("blue")},
		"Other":    {"red", mine, organizations("red")},
		"None":     {"nobody", mine, organizations()},
		"Narrowed": {"viewer", mine + "&organization=green", organizations("green")},
		"OfAll":    {"admin", mine + "&organization=red", organizations("red")},
		"Filtered": {"viewer", mine + "&version=v1.36.3&provisioner=hosted&ready=unknown", organizations("blue", "green")},
		"Named":    {"viewer", "?name=su-green", organizations("green")},
		"Nothing":  {"viewer", mine + "&version=v1.35.4", organizations()},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, h.do(t.Context(), t, tc.who, "GET", summary+tc.query, "").summary(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for query, want := range map[string]int{
		"?labelSelector=a%3D%3D%3D": http.StatusUnprocessableEntity, "?limit=5": http.StatusUnprocessableEntity,
		"?organization=red": http.StatusNotFound, "?organization=none": http.StatusNotFound,
	} {
		if a := h.do(t.Context(), t, "viewer", "GET", summary+query, ""); a.status != want {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

// TestOthersAreNotCounted: whatever a member asks for, the answer is the same, to the byte, whether other organizations have clusters
// or not; and theirs are counted for those who may list them.
func TestOthersAreNotCounted(t *testing.T) {
	h := newFixture(t)
	h.cluster(t, "blue", "so-1")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	queries := []string{"?name=so-"}
	for range 60 {
		queries = append(queries, "?name=so-"+pick("", "", "1", "2")+pick("", "&organization=blue")+pick("", "&ready=true", "&ready=unknown")+
			pick("", "&provisioner=hosted", "&provisioner=imported")+pick("", "&version=v1.36.3", "&version=v1.35.4")+pick("", "&cluster=so-2")+pick("", "&labelSelector=a"))
	}
	h.await(t, func() bool { return h.do(t.Context(), t, "admin", "GET", summary+queries[0], "").summary(t).Total == 1 })
	members := []string{"viewer", "operator", "owner"}
	alone := map[string]string{}
	for _, query := range queries {
		for _, who := range members {
			alone[who+query] = h.summed(t, who, query)
		}
	}
	h.cluster(t, "red", "so-1")
	h.cluster(t, "red", "so-2")
	h.await(t, func() bool { return h.do(t.Context(), t, "admin", "GET", summary+queries[0], "").summary(t).Total == 3 })
	for _, query := range queries {
		for _, who := range members {
			if diff := cmp.Diff(alone[who+query], h.summed(t, who, query)); diff != "" {
				t.Errorf("%s asks for %s, and it matters what red has (-alone +beside others):\n%s", who, query, diff)
			}
		}
	}
	// An organization of others is as one that is not there.
	problem := func(organization string) rest.Problem {
		p := h.do(t.Context(), t, "owner", "GET", summary+"?organization="+organization, "").problem(t)
		p.RequestID = ""
		return p
	}
	if diff := cmp.Diff(problem("none"), problem("red")); diff != "" {
		t.Errorf("(-no organization +one of others):\n%s", diff)
	}
}
