package inventory

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

func component(part, version string) Item {
	return Item{Key: Key{Kind: KindComponent, Name: "n", Part: part}, Component: &Component{Version: version}}
}

func container(reference, tag, digest, phase, reason string) Item {
	return Item{Key: Key{Kind: KindContainer, Namespace: "ns", Name: "web-1", Part: "c"}, Container: &Container{
		WorkloadKind: "Deployment", WorkloadName: "web", Phase: phase, Reason: reason, Image: Image{Reference: reference, Tag: tag, Digest: digest},
	}}
}

// now is when the rules look.
var now = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

func certificate(end time.Time) Item {
	return Item{Key: Key{Kind: KindCertificate, Name: "c"}, Certificate: &Certificate{NotAfter: end}}
}

func authority(end time.Time) Item {
	i := certificate(end)
	i.Key.Part = PartAuthority
	return i
}

func api(removed string) Item {
	return Item{Key: Key{Kind: KindAPI, Name: "g/v1beta1/r"}, API: &API{RemovedIn: removed}}
}

var findingCases = map[string]struct {
	items []Item
	// age is how long the items have been so.
	age  time.Duration
	want []string
}{
	"Nothing":           {nil, 0, nil},
	"SameMinor":         {[]Item{server(), component("kubelet", "v1.36.0")}, 0, nil},
	"ThreeOlder":        {[]Item{server(), component("kube-proxy", "v1.33.0")}, 0, nil},
	"FourOlder":         {[]Item{server(), component("kube-proxy", "v1.32.9")}, 0, []string{"Critical VersionSkew kube-proxy"}},
	"Newer":             {[]Item{server(), component("kubelet", "v1.37.0")}, 0, []string{"Critical VersionSkew kubelet"}},
	"OldestServer":      {[]Item{server(), component2("kube-apiserver", "v1.35.0"), component("kubelet", "v1.36.0")}, 0, []string{"Critical VersionSkew kubelet"}},
	"SchedulerOneOlder": {[]Item{server(), component("kube-scheduler", "v1.35.0")}, 0, nil},
	"SchedulerTwoOlder": {[]Item{server(), component("kube-scheduler", "v1.34.0")}, 0, []string{"Critical VersionSkew kube-scheduler"}},
	"SchedulerNewer":    {[]Item{server(), component("kube-scheduler", "v1.37.0")}, 0, []string{"Critical VersionSkew kube-scheduler"}},
	"Vendor":            {[]Item{server(), component("kubelet", "v1.36.3-gke.1")}, 0, nil},
	"NoServer":          {[]Item{component("kube-proxy", "v1.20.0")}, 0, nil},
	"Unreadable":        {[]Item{server(), component("kubelet", "main")}, 0, nil},
	"OtherComponent":    {[]Item{server(), component("coredns", "v1.11.0")}, 0, nil},
	"Ended":             {[]Item{component("kubelet", "v1.34.5")}, 0, []string{"Warning EndOfLife kubelet"}},
	"LongEnded":         {[]Item{component("kube-apiserver", "v1.20.0")}, 0, []string{"Warning EndOfLife kube-apiserver"}},
	"NotEnded":          {[]Item{component("kubelet", "v1.35.0")}, 0, nil},
	"NotYetReleased":    {[]Item{component("kubelet", "v1.50.0")}, 0, nil},

	"Latest":         {[]Item{container("r:latest", "latest", "sha256:1", "Running", "")}, 0, []string{"Warning LatestTag web"}},
	"NoTag":          {[]Item{container("r", "", "sha256:1", "Running", "")}, 0, []string{"Warning LatestTag web"}},
	"ByDigest":       {[]Item{container("r@sha256:1", "", "sha256:1", "Running", "")}, 0, nil},
	"LatestByDigest": {[]Item{container("r:latest@sha256:1", "latest", "sha256:1", "Running", "")}, 0, nil},
	"NoDigest":       {[]Item{container("r:1", "1", "", "Running", "")}, 0, []string{"Info NoDigest web"}},
	"NoDigestYet":    {[]Item{container("r:1", "1", "", "Pending", "")}, 0, nil},
	"Crashing":       {[]Item{container("r:1", "1", "sha256:1", "Running", "CrashLoopBackOff")}, 0, []string{"Warning StuckPod web"}},
	"OtherReason":    {[]Item{container("r:1", "1", "sha256:1", "Running", "Completed")}, 0, nil},
	"Pending":        {[]Item{container("r:1", "1", "", "Pending", "")}, 5 * time.Minute, nil},
	"LongPending":    {[]Item{container("r:1", "1", "", "Pending", "")}, 5*time.Minute + 1, []string{"Warning StuckPod web"}},

	"CertificateValid":   {[]Item{certificate(now.Add(30*24*time.Hour + 1))}, 0, nil},
	"CertificateExpires": {[]Item{certificate(now.Add(30 * 24 * time.Hour))}, 0, []string{"Warning CertificateExpires c"}},
	"CertificateExpired": {[]Item{certificate(now)}, 0, []string{"Critical CertificateExpires c"}},
	"AuthorityValid":     {[]Item{authority(now.Add(180*24*time.Hour + 1))}, 0, nil},
	"AuthorityExpires":   {[]Item{authority(now.Add(180 * 24 * time.Hour))}, 0, []string{"Warning CertificateExpires c"}},
	"AuthorityExpired":   {[]Item{authority(now.Add(30 * 24 * time.Hour))}, 0, []string{"Critical CertificateExpires c"}},
	"CertificateUnknown": {[]Item{certificate(time.Time{})}, 0, nil},

	"Ready":    {[]Item{node("n", "")}, 0, nil},
	"NotReady": {[]Item{{Key: Key{Kind: KindNode, Name: "n"}, Node: &Node{Ready: "Unknown"}}}, 0, []string{"Critical NodeNotReady n"}},

	"RemovedNext":  {[]Item{server(), api("1.37")}, 0, []string{"Warning DeprecatedAPI g/v1beta1/r"}},
	"RemovedNow":   {[]Item{server(), api("1.36")}, 0, []string{"Warning DeprecatedAPI g/v1beta1/r"}},
	"RemovedLater": {[]Item{server(), api("1.38")}, 0, nil},
	"NotSaid":      {[]Item{server(), api("")}, 0, nil},

	"OfOneWorkload": {[]Item{container("r:latest", "latest", "sha256:1", "Running", ""), func() Item {
		other := container("r:latest", "latest", "sha256:1", "Running", "")
		other.Key.Name = "web-2"
		return other
	}()}, 0, []string{"Warning LatestTag web"}},
	"GravestFirst": {
		[]Item{container("r:latest", "latest", "", "Running", ""), certificate(now)}, 0,
		[]string{"Critical CertificateExpires c", "Warning LatestTag web", "Info NoDigest web"},
	},
}

func server() Item { return component("kube-apiserver", "v1.36.3") }

func TestFindings(t *testing.T) {
	for name, c := range findingCases {
		t.Run(name, func(t *testing.T) {
			var rows []ItemRow
			for _, item := range c.items {
				rows = append(rows, ItemRow{Place: Place{Cluster: "c", Since: now.Add(-c.age)}, Item: item})
			}
			var got []string
			for _, one := range Findings(now, rows) {
				subject := one.Subject.Name
				if one.Subject.Kind == KindComponent {
					subject = one.Subject.Part
				}
				got = append(got, fmt.Sprintf("%s %s %s", one.Severity, one.Rule, subject))
				if one.Reason == "" || one.Remedy == "" || one.Cluster != "c" || one.SubjectKind == "" {
					t.Errorf("it does not say what is so, what to do, and where: %+v", one)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func component2(part, version string) Item {
	item := component(part, version)
	item.Key.Name = "n2"
	return item
}

// TestFindingsPages: pages have all findings once, now and as of before.
func TestFindingsPages(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		bad := container("r:latest", "latest", "", "Running", "CrashLoopBackOff")
		good := container("r:1", "1", "sha256:1", "Running", "")
		for n := range 3 {
			c := Cluster{UID: fmt.Sprint("uid-", n), Organization: "o", Name: fmt.Sprint("c-", n)}
			for at, item := range []Item{bad, good} {
				crashing := container("r:1", "1", "sha256:1", "Running", "CrashLoopBackOff")
				crashing.Key.Name, crashing.Container.WorkloadName = "crashing", `","Phase":"Running","Reason":""}`
				crashing.Container.Reason = []string{"CrashLoopBackOff", ""}[at]
				set := []Item{item, crashing, component("kube-apiserver", "v1.36.0"), component("kube-proxy", fmt.Sprintf("v1.%d.0", 30+6*at))}
				if err := s.Apply(t.Context(), c, Changes{At: start.Add(time.Duration(at) * time.Hour), Set: set}); err != nil {
					t.Fatal(err)
				}
			}
		}
		cases := map[string]struct {
			filter Filter
			want   int
		}{
			"Now":       {Filter{}, 0},
			"Past":      {Filter{At: start.Add(time.Minute)}, 12},
			"Namespace": {Filter{At: start.Add(time.Minute), Namespaces: []string{"ns"}}, 9},
			"Other":     {Filter{At: start.Add(time.Minute), Namespaces: []string{"other"}}, 0},
			"Cluster":   {Filter{At: start.Add(time.Minute), Clusters: []string{"c-1"}}, 4},
			"Warnings":  {Filter{At: start.Add(time.Minute), Severities: []Severity{Warn}}, 9},
			"Graver":    {Filter{At: start.Add(time.Minute), Severities: []Severity{Critical, Warn}}, 12},
			"Critical":  {Filter{At: start.Add(time.Minute), Severities: []Severity{Critical}}, 3},
		}
		for name, c := range cases {
			for _, limit := range []int{1, 4, 5, 100} {
				f := c.filter
				f.Scope, f.Limit = everything, limit
				seen := map[string]bool{}
				for _, one := range all(t, f, func(f Filter) (Page[Finding], error) { return s.Findings(t.Context(), f) }) {
					seen[one.ClusterUID+one.id()] = true
				}
				if len(seen) != c.want {
					t.Errorf("%s, pages of %d: got %d, want %d: %v", name, limit, len(seen), c.want, seen)
				}
			}
		}
	})
}
