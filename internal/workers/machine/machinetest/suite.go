// Package machinetest is the contract of machine.Provider as tests. They make real machines that find no API server: a
// machine is a machine before it is a node. Machines that users join are not made; of their provider the tests ask
// that it waits, tells no one the token, and keeps nothing.
//
// Only the tests of providers may import it.
package machinetest

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/suitetest"
	"kqueen.io/kqueen/internal/workers/machine"
)

// Subject is a provider under test.
type Subject struct {
	machine.Provider
	// Again returns the provider as another KQueen finds it, after the first was killed.
	Again func(t *testing.T) machine.Provider
	// Version of Kubernetes that the provider can make.
	Version string
	// CA is the PEM of some authority.
	CA []byte
	// Left names what is left on the host of these machines and their clusters.
	Left func(t *testing.T, refs ...machine.Ref) []string
}

// Run checks what every provider promises. make returns a provider without machines.
func Run(t *testing.T, make func(t *testing.T) Subject) {
	suitetest.Run(t, make, map[string]func(t *testing.T, s Subject){
		"DescribesItself":        describesItself,
		"EnsureIsIdempotent":     ensureIsIdempotent,
		"AnotherKQueenFindsThem": anotherFindsThem,
		"MachinesDiffer":         machinesDiffer,
		"DeleteLeavesNothing":    deleteLeavesNothing,
		"DeleteOfNothing":        deleteOfNothing,
		"DeleteByWhatIsKnown":    deleteByWhatIsKnown,
		"CanceledCallIsNoState":  canceledCall,
		"BadInputIsRefused":      badInputIsRefused,
		"JoinedMachinesWait":     joinedMachinesWait,
		"LostMachinesAreTold":    lostMachinesAreTold,
	})
}

// Want returns a machine of a cluster that does not exist.
func (s Subject) Want(cluster types.UID, name string) machine.Desired {
	return machine.Desired{
		Target:  machine.Target{Ref: machine.Ref{UID: uuid.NewUUID(), Cluster: cluster, Name: name}},
		Version: s.Version,
		Token:   "abcdef.0123456789abcdef",
		Cluster: machine.Cluster{
			Name: "nowhere", Server: "192.0.2.1:1", CA: s.CA,
			PodCIDR: netip.MustParsePrefix("10.244.0.0/16"), ServiceCIDR: netip.MustParsePrefix("10.96.0.0/16"),
			DNS: netip.MustParseAddr("10.96.0.10"), DNSDomain: "cluster.local", CNI: v1alpha1.CNIRoutes,
		},
	}
}

// ensure makes a machine and removes it when the test ends.
func (s Subject) ensure(t *testing.T, want machine.Desired) machine.Observed {
	t.Helper()
	t.Cleanup(func() { s.remove(t, s.Provider, want.Target) })
	got, err := s.Ensure(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// patience bounds everything that a provider does in the background.
const patience = time.Minute

// remove deletes until the machine is gone.
func (s Subject) remove(t *testing.T, p machine.Provider, of machine.Target) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		gone, err := p.Delete(ctx, of)
		if gone {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Errorf("machine %s is not gone: %v", of.Name, err)
			return
		}
	}
}

func describesItself(t *testing.T, s Subject) {
	d := s.Describe()
	if d.Name == "" || d.Summary == "" {
		t.Errorf("name or summary is missing: %+v", d)
	}
	if !json.Valid(d.ParametersSchema) {
		t.Errorf("the schema is not JSON: %s", d.ParametersSchema)
	}
}

func ensureIsIdempotent(t *testing.T, s Subject) {
	want := s.Want("c-"+uuid.NewUUID(), "one")
	first := s.ensure(t, want)
	second, err := s.Ensure(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if first.ProviderID == "" || first.ProviderID != second.ProviderID || first.Address != second.Address {
		t.Errorf("two calls give two machines: %+v and %+v", first, second)
	}
	s.wantList(t, s.Provider, want.UID)
}

func anotherFindsThem(t *testing.T, s Subject) {
	want := s.Want("c-"+uuid.NewUUID(), "one")
	first, err := s.Ensure(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	other := s.Again(t)
	t.Cleanup(func() { s.remove(t, other, want.Target) })
	s.wantList(t, other, want.UID)
	second, err := other.Ensure(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if first.ProviderID != second.ProviderID || first.Address != second.Address {
		t.Errorf("the machine was not found again: %+v became %+v", first, second)
	}
}

func machinesDiffer(t *testing.T, s Subject) {
	cluster := "c-" + uuid.NewUUID()
	one, two := s.Want(cluster, "one"), s.Want(cluster, "two")
	a, b := s.ensure(t, one), s.ensure(t, two)
	if a.ProviderID == b.ProviderID || a.Address.IsValid() && a.Address == b.Address {
		t.Errorf("two machines are one: %+v and %+v", a, b)
	}
	s.wantList(t, s.Provider, one.UID, two.UID)
}

func deleteLeavesNothing(t *testing.T, s Subject) {
	cluster := "c-" + uuid.NewUUID()
	one, two := s.Want(cluster, "one"), s.Want(cluster, "two")
	s.ensure(t, one)
	s.ensure(t, two)
	s.remove(t, s.Provider, one.Target)
	if left := s.Left(t, two.Ref); s.Describe().Routed && len(left) == 0 {
		t.Error("with one machine the other one's things went")
	}
	s.remove(t, s.Provider, two.Target)
	if left := s.Left(t, one.Ref, two.Ref); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
	s.wantList(t, s.Provider)
}

func deleteOfNothing(t *testing.T, s Subject) {
	gone, err := s.Delete(t.Context(), s.Want("c-none", "none").Target)
	if !gone || err != nil {
		t.Errorf("got %v, %v; want gone", gone, err)
	}
}

// deleteByWhatIsKnown: a provider that was restarted finds a machine by its target, with the id that it reported and,
// where that answer was lost, without.
func deleteByWhatIsKnown(t *testing.T, s Subject) {
	cluster := "c-" + uuid.NewUUID()
	one, two := s.Want(cluster, "one"), s.Want(cluster, "two")
	reported, err := s.Ensure(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ensure(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	known := one.Target
	known.ProviderID = reported.ProviderID
	other := s.Again(t)
	s.remove(t, other, known)
	s.remove(t, other, two.Target)
	if left := s.Left(t, one.Ref, two.Ref); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
	s.wantList(t, other)
}

// canceledCall: a call that could not be made is never the news that a machine is gone, unless it is.
func canceledCall(t *testing.T, s Subject) {
	if s.Describe().UserJoins {
		return // it calls nothing
	}
	want := s.Want("c-"+uuid.NewUUID(), "one")
	s.ensure(t, want)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone, err := s.Delete(ctx, want.Target)
	if left := s.Left(t, want.Ref); gone && len(left) > 0 {
		t.Errorf("Delete with a canceled context says gone (%v) of a machine that has left %v", err, left)
	}
}

func badInputIsRefused(t *testing.T, s Subject) {
	bad := map[string]func(*machine.Desired){
		"version that is none":       func(d *machine.Desired) { d.Version = "latest" },
		"parameter that is none":     func(d *machine.Desired) { d.Parameters = json.RawMessage(`{"gpu":1}`) },
		"parameters that are no map": func(d *machine.Desired) { d.Parameters = json.RawMessage(`[]`) },
	}
	if !s.Describe().UserJoins { // what is on a machine that a user joins is not known
		bad["version that is not there"] = func(d *machine.Desired) { d.Version = "v1.2.3" }
	}
	for name, change := range bad {
		want := s.Want("c-bad", "bad")
		change(&want)
		_, err := s.Ensure(t.Context(), want)
		if bad, ok := errors.AsType[*invalid.Error](err); !ok || bad.Field == "" || bad.Problem == "" {
			t.Errorf("%s: want an *invalid.Error with field and problem, got %v", name, err)
		}
	}
	s.wantList(t, s.Provider)
}

// joinedMachinesWait until a user has joined them, and then run.
func joinedMachinesWait(t *testing.T, s Subject) {
	if !s.Describe().UserJoins {
		return // when it runs is its own business
	}
	want := s.Want("c-"+uuid.NewUUID(), "one")
	waits := s.ensure(t, want)
	if waits.State != machine.Awaiting || waits.Message == "" || strings.Contains(waits.Message, want.Token) || waits.Address.IsValid() {
		t.Errorf("before it has joined it is %+v; want that it waits, says for what, and does not tell the token", waits)
	}
	want.Token = ""
	runs, err := s.Ensure(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if runs.State != machine.Running || runs.ProviderID != waits.ProviderID {
		t.Errorf("it was %+v and is, after it has joined, %+v", waits, runs)
	}
}

// lostMachinesAreTold: of a machine that has joined and of which nothing is there, as on another host, nothing is made until it has a token
// again.
func lostMachinesAreTold(t *testing.T, s Subject) {
	if s.Describe().UserJoins {
		return // it is its user's to keep
	}
	want := s.Want("c-"+uuid.NewUUID(), "one")
	joined := want
	joined.Token = ""
	lost := s.ensure(t, joined)
	if lost.State != machine.Lost || lost.Message == "" || lost.Address.IsValid() {
		t.Errorf("it is %+v; want that it is lost", lost)
	}
	s.wantList(t, s.Provider)
	if made := s.ensure(t, want); made.State == machine.Lost || made.ProviderID != lost.ProviderID || made.LifeBegan.Before(lost.LifeBegan) {
		t.Errorf("it was %+v and is, with a token, %+v", lost, made)
	}
	s.wantList(t, s.Provider, want.UID)
}

// wantList wants that these machines are found, where there is something of a machine to find.
func (s Subject) wantList(t *testing.T, p machine.Provider, want ...types.UID) {
	t.Helper()
	got, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Describe().UserJoins {
		want = nil
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
}
