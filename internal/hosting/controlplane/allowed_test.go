package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// destinationsOf reads a list.
func destinationsOf(t *testing.T, texts ...string) []egress.Destination {
	t.Helper()
	var out []egress.Destination
	for _, text := range texts {
		d, err := egress.ParseDestination(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

func TestDestinations(t *testing.T) {
	tests := map[string]struct {
		reason         string
		all, own, want []string
	}{
		"None":     {"Without lists nothing is allowed.", nil, nil, nil},
		"Both":     {"Both lists count, in one order.", []string{"203.0.113.7:443"}, []string{"[2001:db8::/64]:443", "198.51.100.0/24:8443", "198.51.100.0/24:443"}, []string{"198.51.100.0/24:443", "198.51.100.0/24:8443", "203.0.113.7:443", "[2001:db8::/64]:443"}},
		"Twice":    {"What is in both is in it once, however it is written.", []string{"203.0.113.7:443"}, []string{"203.0.113.7/32:443"}, []string{"203.0.113.7:443"}},
		"Unread":   {"What cannot be read allows nothing, and the others count.", nil, []string{"hooks.example.com:443", "198.51.100.0/24:443", ""}, []string{"198.51.100.0/24:443"}},
		"OnlyAll":  {"An organization without a list has that of all.", []string{"203.0.113.7:443"}, nil, []string{"203.0.113.7:443"}},
		"OnlyBits": {"A range with bits beside it is not guessed at.", nil, []string{"198.51.100.7/24:443"}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			all := destinationsOf(t, tc.all...)
			kept := slices.Clone(all)
			var got []string
			for _, d := range destinations(all, tc.own) {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if !slices.Equal(all, kept) {
				t.Error("the list of all was changed in place")
			}
		})
	}
}

// TestAllowedChangesTheMarkAlone: what is allowed is in one file, at whose change nothing restarts and which opens no connection
// past the egress.
func TestAllowedChangesTheMarkAlone(t *testing.T) {
	d := description(t)
	before, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	d.Allowed, d.Closed = destinationsOf(t, "198.51.100.0/24:443"), []netip.Prefix{netip.MustParsePrefix("10.223.0.0/16")}
	after, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	if portable(before) != portable(after) || !slices.Equal(before.Reaches, after.Reaches) {
		t.Error("programs, their arguments, their files' names or what they connect to themselves differ")
	}
	var changed []string
	for name, file := range after.Files {
		if !bytes.Equal(before.Files[name].Data, file.Data) {
			changed = append(changed, name)
		}
	}
	if diff := cmp.Diff([]string{egress.MarkFile}, changed); diff != "" {
		t.Errorf("files that differ (-want +got):\n%s", diff)
	}
	for _, c := range after.Components {
		if slices.Contains(c.RestartOn, egress.MarkFile) {
			t.Errorf("%s is restarted by what is allowed", c.Name)
		}
	}
}

// TestFollowsWhatIsAllowed: the mark has what is allowed to all and to the organization, and follows when an administrator changes
// that, while the components go on.
func TestFollowsWhatIsAllowed(t *testing.T) {
	p, _, _ := inOrganization(t)
	allow := func(list ...string) {
		t.Helper()
		o := &v1alpha1.Organization{}
		if err := p.client.Get(t.Context(), client.ObjectKey{Name: p.key.Namespace[len(v1alpha1.NamespacePrefix):]}, o); err != nil {
			t.Fatal(err)
		}
		o.Spec.Egress = nil
		if len(list) > 0 {
			o.Spec.Egress = &v1alpha1.Egress{Allow: list}
		}
		if err := p.client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	follows := func(want ...string) {
		t.Helper()
		wanted := destinationsOf(t, want...)
		w := p.world()
		w.Done = func(context.Context) (bool, error) {
			var mark egress.Mark
			err := json.Unmarshal(p.workloads[p.uid].Files[egress.MarkFile].Data, &mark)
			return slices.Equal(mark.Allowed, wanted) && len(mark.Closed) == 1, err
		}
		operatortest.Converge(t, w)
		if !p.workloads[p.uid].ready {
			t.Error("the components are restarted")
		}
	}
	follows()
	allow("198.51.100.7:443")
	follows("198.51.100.7:443")
	p.allowed = destinationsOf(t, "203.0.113.0/24:443")
	follows("198.51.100.7:443", "203.0.113.0/24:443")
	allow()
	follows("203.0.113.0/24:443")
}

func TestAllowsOtherwise(t *testing.T) {
	of := func(name string, list ...string) *v1alpha1.Organization {
		o := &v1alpha1.Organization{Spec: v1alpha1.OrganizationSpec{DisplayName: name}}
		if len(list) > 0 {
			o.Spec.Egress = &v1alpha1.Egress{Allow: list}
		}
		return o
	}
	const one, two = "198.51.100.7:443", "203.0.113.0/24:443"
	watched := allowsOtherwise()
	for name, tc := range map[string]struct {
		before, after *v1alpha1.Organization
		want          bool
	}{
		"name":       {of("a", one), of("b", one), false},
		"first":      {of("a"), of("a", one), true},
		"another":    {of("a", one), of("a", two), true},
		"taken back": {of("a", one, two), of("a", one), true},
		"no list":    {of("a"), of("b"), false},
	} {
		if got := watched.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
	if !watched.Create(event.CreateEvent{Object: of("a", one)}) || watched.Create(event.CreateEvent{Object: of("a")}) {
		t.Error("of new organizations those with a list are looked at")
	}
}
