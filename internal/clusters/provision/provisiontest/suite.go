// Package provisiontest is the contract of provision.Driver as tests: every driver must pass Run. What a driver can
// beyond that (provision.Features) has tests of its own, which run for drivers that have it.
//
// It knows nothing of how a driver makes its clusters; what has to happen outside is done by the driver's test
// through Subject. Only the tests of drivers may import it.
package provisiontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/schema"
)

// mostLooks is how often a cluster is looked at, with progress in between, before it counts as never
// healthy or never gone.
const mostLooks = 100

// Subject is a driver and the outside that it works in.
type Subject struct {
	Driver provision.Driver
	// Want returns a cluster that the driver takes, with a name, a namespace and a UID of its own.
	Want func(t *testing.T) provision.Desired
	// Refused are changes of what Want returns that Check must refuse, by name.
	Refused map[string]Refusal
	// Progress lets the outside move one step for one cluster. Nil when it moves by itself.
	Progress func(t *testing.T, ref provision.Ref)
	// Outside returns all that the driver can touch of a name in a namespace, for comparison. Two calls
	// without a change in between return the same.
	Outside func(t *testing.T, namespace, name string) any
	// Break lets the next calls to the outside fail, until the returned function is called. Nil when the
	// driver cannot be made to fail.
	Break func(t *testing.T, ref provision.Ref) (mend func())
	// Secrets are texts that must not be in any error, such as passwords and keys of a cluster.
	Secrets func(t *testing.T, ref provision.Ref) [][]byte
	// Again returns the driver as another KQueen has it, after the first was killed. Nil when the driver holds nothing
	// in memory.
	Again func(t *testing.T) provision.Driver
	// Hang lets calls to the outside wait for an answer that does not come, until the returned function is called. Nil
	// when the outside cannot be made to.
	Hang func(t *testing.T, ref provision.Ref) (answer func())
	// NodePool returns a pool that a provision.NodePooler takes.
	NodePool func(t *testing.T) provision.NodePool
	// Adopts says that Want gives clusters of others: they are there before Ensure and after Delete, and no name or UID is in them.
	Adopts bool
	// Foreign makes a cluster out there that KQueen did not, and returns the id by which a provision.Adopter takes it.
	Foreign func(t *testing.T, want provision.Desired) (id string)
}

// Refusal is input that Check must refuse.
type Refusal struct {
	Change func(*provision.Desired)
	// Have is the change of Want that runs already; nil for a new cluster.
	Have func(*provision.Desired)
	// Field is the one that the error must name.
	Field string
}

// Run runs the contract.
func Run(t *testing.T, make func(t *testing.T) Subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Subject){
		"DescribeIsPure":           describeIsPure,
		"DescribeIsWhole":          describeIsWhole,
		"CheckChangesNothing":      checkChangesNothing,
		"CheckRefuses":             checkRefuses,
		"ObserveBefore":            observeBefore,
		"Life":                     life,
		"EnsureIsIdempotent":       ensureIsIdempotent,
		"DeleteOfNothing":          deleteOfNothing,
		"DeleteHalfMade":           deleteHalfMade,
		"EarlierNamesake":          earlierNamesake,
		"ErrorsHoldNoSecrets":      errorsHoldNoSecrets,
		"CanceledContextIsNoState": canceledContext,
		"AnotherKQueenFindsThem":   anotherFindsThem,
		"EndsWithItsContext":       endsWithItsContext,
		"WrongCredentials":         wrongCredentials,
		"ClusterCredentials":       clusterCredentials,
		"Versions":                 versions,
		"Kubeconfigs":              kubeconfigs,
		"NodePools":                nodePools,
		"Adoption":                 adoption,
		"Sizes":                    sizes,
	} {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}

var driverName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

func describeIsPure(t *testing.T, s Subject) {
	if diff := cmp.Diff(s.Driver.Describe(), s.Driver.Describe()); diff != "" {
		t.Errorf("two answers differ:\n%s", diff)
	}
}

func describeIsWhole(t *testing.T, s Subject) {
	d := s.Driver.Describe()
	if !driverName.MatchString(d.Name) || len(d.Name) > 63 {
		t.Errorf("name %q: want a DNS label, which a Provisioner can hold", d.Name)
	}
	if !strings.HasSuffix(d.Summary, ".") || strings.Contains(d.Summary, "\n") || len(d.Summary) > 200 {
		t.Errorf("summary %q: want one sentence on one line", d.Summary)
	}
	describesCredentials(t, d.Credentials)
	describesCredentials(t, d.ClusterCredentials)
	if _, checks := s.Driver.(provision.CredentialChecker); checks != (len(d.ClusterCredentials) > 0) {
		t.Error("a driver that takes credentials of clusters must be a CredentialChecker, and no other one")
	}
	for name, said := range map[string]json.RawMessage{"ProvisionerSchema": d.ProvisionerSchema, "ClusterSchema": d.ClusterSchema} {
		var bad *invalid.Error
		if err := schema.Check("x", said, nil); err != nil && !errors.As(err, &bad) {
			t.Errorf("%s does not compile: %v", name, err)
		}
		err := schema.Check("x", said, json.RawMessage(`{"noDriverHasThis":1}`))
		if !errors.As(err, &bad) || !strings.HasPrefix(bad.Field, "x") {
			t.Errorf("%s takes a setting that does not exist, so a typing error is not found: %v", name, err)
		}
	}
}

func describesCredentials(t *testing.T, all []provision.Credential) {
	seen := map[string]bool{}
	for _, c := range all {
		if len(validation.IsConfigMapKey(c.Key)) > 0 || seen[c.Key] {
			t.Errorf("credential %q: want a key that a Secret can hold, once", c.Key)
		}
		if !strings.HasSuffix(c.Description, ".") {
			t.Errorf("credential %s: want one sentence that describes it, got %q", c.Key, c.Description)
		}
		seen[c.Key] = true
	}
}

func checkChangesNothing(t *testing.T, s Subject) {
	want := s.Want(t)
	before := s.Outside(t, want.Namespace, want.Name)
	for _, have := range []*provision.Desired{nil, &want} {
		if err := s.Driver.Check(t.Context(), have, want); err != nil {
			t.Errorf("check what the driver takes: %v", err)
		}
	}
	if diff := cmp.Diff(before, s.Outside(t, want.Namespace, want.Name)); diff != "" {
		t.Errorf("Check changed the outside:\n%s", diff)
	}
}

func checkRefuses(t *testing.T, s Subject) {
	for name, refusal := range s.Refused {
		t.Run(name, func(t *testing.T) {
			want := s.Want(t)
			var have *provision.Desired
			if refusal.Have != nil {
				running := want
				refusal.Have(&running)
				have = &running
			}
			refusal.Change(&want)
			before := s.Outside(t, want.Namespace, want.Name)
			err := s.Driver.Check(t.Context(), have, want)
			var bad *invalid.Error
			if !errors.As(err, &bad) || bad.Field != refusal.Field || bad.Problem == "" {
				t.Errorf("want an *invalid.Error of %s, got %v", refusal.Field, err)
			}
			if diff := cmp.Diff(before, s.Outside(t, want.Namespace, want.Name)); diff != "" {
				t.Errorf("Check changed the outside:\n%s", diff)
			}
		})
	}
}

func observeBefore(t *testing.T, s Subject) {
	if s.Adopts {
		t.Skip("the cluster is there before")
	}
	if _, err := s.Driver.Observe(t.Context(), s.Want(t).Target); !errors.Is(err, provision.ErrNotFound) {
		t.Errorf("observe what was never made: want ErrNotFound, got %v", err)
	}
}

// life creates a cluster, sees it healthy, and removes it.
func life(t *testing.T, s Subject) {
	want := s.Want(t)
	before := s.Outside(t, want.Namespace, want.Name)
	o := s.healthy(t, want)
	_, mints := s.Driver.(provision.KubeconfigMinter)
	_, given := s.Driver.(provision.CredentialChecker)
	if given && len(o.Kubeconfig) > 0 {
		t.Error("the credentials that a user has set are published as a kubeconfig")
	}
	mints = mints || given
	if o.Version == "" || want.Version != "" && o.Version != want.Version || o.Endpoint == "" || len(o.Kubeconfig) == 0 && !mints || len(o.Steps) == 0 {
		t.Errorf("a healthy cluster must have its version, endpoint, kubeconfig and steps, got version %q, endpoint %q, %d bytes, %d steps",
			o.Version, o.Endpoint, len(o.Kubeconfig), len(o.Steps))
	}
	for _, step := range o.Steps {
		if step.Name == "" {
			t.Error("a step has no name")
		}
	}
	s.remove(t, want.Target)
	if diff := cmp.Diff(before, s.Outside(t, want.Namespace, want.Name)); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
	if gone, err := s.Driver.Delete(t.Context(), want.Target); err != nil || !gone {
		t.Errorf("delete what is gone: want gone, got %v, %v", gone, err)
	}
}

func ensureIsIdempotent(t *testing.T, s Subject) {
	want := s.Want(t)
	s.healthy(t, want)
	before := s.Outside(t, want.Namespace, want.Name)
	for range 3 {
		s.ensure(t, want)
	}
	if diff := cmp.Diff(before, s.Outside(t, want.Namespace, want.Name)); diff != "" {
		t.Errorf("Ensure of a healthy cluster changed the outside:\n%s", diff)
	}
	if o, err := s.Driver.Observe(t.Context(), want.Target); err != nil || o.State != provision.Healthy {
		t.Errorf("after Ensure of a healthy cluster: state %v, %v", o.State, err)
	}
	s.remove(t, want.Target)
}

func deleteOfNothing(t *testing.T, s Subject) {
	if gone, err := s.Driver.Delete(t.Context(), s.Want(t).Target); err != nil || !gone {
		t.Errorf("delete what was never made: want gone, got %v, %v", gone, err)
	}
}

func deleteHalfMade(t *testing.T, s Subject) {
	want := s.Want(t)
	before := s.Outside(t, want.Namespace, want.Name)
	s.ensure(t, want)
	s.remove(t, want.Target)
	if diff := cmp.Diff(before, s.Outside(t, want.Namespace, want.Name)); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}

// earlierNamesake: a cluster of the same name and another UID is not the one that is asked for.
func earlierNamesake(t *testing.T, s Subject) {
	if s.Adopts {
		t.Skip("the cluster knows no name of ours")
	}
	first := s.Want(t)
	s.healthy(t, first)
	before := s.Outside(t, first.Namespace, first.Name)
	second := first
	second.UID = uuid.NewUUID()

	if o, err := s.Driver.Observe(t.Context(), second.Target); err == nil {
		t.Errorf("the namesake's cluster is shown as one's own: %v", o.State)
	}
	// Whether it is refused or made beside is up to the driver.
	_ = s.Driver.Ensure(t.Context(), second)
	for range 3 {
		if _, err := s.Driver.Delete(t.Context(), second.Target); err != nil {
			t.Errorf("delete beside a namesake: %v", err)
		}
		s.progress(t, second.Ref)
	}
	if gone, err := s.Driver.Delete(t.Context(), second.Target); err != nil || !gone {
		t.Errorf("delete beside a namesake: want gone, got %v, %v", gone, err)
	}
	if diff := cmp.Diff(before, s.Outside(t, first.Namespace, first.Name)); diff != "" {
		t.Errorf("the namesake was touched:\n%s", diff)
	}
	s.remove(t, first.Target)
}

func errorsHoldNoSecrets(t *testing.T, s Subject) {
	if s.Break == nil || s.Secrets == nil {
		t.Skip("the subject cannot break the outside, or has no secrets")
	}
	want := s.Want(t)
	o := s.healthy(t, want)
	secrets := append(s.Secrets(t, want.Ref), o.Kubeconfig)
	mend := s.Break(t, want.Ref)
	_, observed := s.Driver.Observe(t.Context(), want.Target)
	_, deleted := s.Driver.Delete(t.Context(), want.Target)
	for call, err := range map[string]error{"Ensure": s.Driver.Ensure(t.Context(), want), "Observe": observed, "Delete": deleted} {
		if err == nil {
			continue
		}
		for _, secret := range secrets {
			if len(secret) > 0 && bytes.Contains([]byte(err.Error()), secret) {
				t.Errorf("the error of %s holds a secret", call)
			}
		}
	}
	if observed == nil {
		t.Error("Observe of a broken outside says nothing: a secret in its error would not be found")
	}
	mend()
	s.remove(t, want.Target)
}

// canceledContext: a call that could not be made is an error, never the news that nothing is there.
func canceledContext(t *testing.T, s Subject) {
	want := s.Want(t)
	s.healthy(t, want)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Driver.Observe(ctx, want.Target); err == nil || errors.Is(err, provision.ErrNotFound) {
		t.Errorf("Observe with a canceled context: want a failure, got %v", err)
	}
	if gone, err := s.Driver.Delete(ctx, want.Target); gone || err == nil {
		t.Errorf("Delete with a canceled context: want a failure, got %v, %v", gone, err)
	}
	s.remove(t, want.Target)
}

func (s Subject) ensure(t *testing.T, want provision.Desired) {
	t.Helper()
	if err := s.Driver.Ensure(t.Context(), want); err != nil {
		t.Fatalf("ensure: %v", err)
	}
}

func (s Subject) progress(t *testing.T, ref provision.Ref) {
	t.Helper()
	if s.Progress != nil {
		s.Progress(t, ref)
	}
}

// healthy creates a cluster and returns what the driver observes when it is healthy.
func (s Subject) healthy(t *testing.T, want provision.Desired) provision.Observed {
	t.Helper()
	if want.UID == "" || want.UID == types.UID(want.Name) {
		t.Fatalf("Want must give a UID, got %q", want.UID)
	}
	for range mostLooks {
		s.ensure(t, want)
		o, err := s.Driver.Observe(t.Context(), want.Target)
		if err != nil && !errors.Is(err, provision.ErrNotFound) {
			t.Fatalf("observe: %v", err)
		}
		if err == nil && o.State == provision.Healthy {
			return o
		}
		if o.State == provision.Failed {
			t.Fatalf("the cluster has failed: %s", o.Message)
		}
		s.progress(t, want.Ref)
	}
	t.Fatalf("the cluster is not healthy after %d looks", mostLooks)
	return provision.Observed{}
}

// remove deletes a cluster until it is gone, and sees that it is.
func (s Subject) remove(t *testing.T, of provision.Target) {
	t.Helper()
	for range mostLooks {
		gone, err := s.Driver.Delete(t.Context(), of)
		if err != nil {
			t.Fatalf("delete: %v", err)
		}
		if gone {
			if _, err := s.Driver.Observe(t.Context(), of); !s.Adopts && !errors.Is(err, provision.ErrNotFound) {
				t.Errorf("observe what is gone: want ErrNotFound, got %v", err)
			}
			return
		}
		s.progress(t, of.Ref)
	}
	t.Fatalf("the cluster is not gone after %d looks", mostLooks)
}
