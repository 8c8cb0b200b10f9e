package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// catalogue fills the plane with what clusters may refer to, and returns a namespace with provisioners:
// hosted, test, unknown (a driver that is not there) and broken (not ready).
func catalogue(t *testing.T, c client.Client) string {
	t.Helper()
	namespace := controlplanetest.Namespace(t, c)
	for name, driver := range map[string]string{"hosted": "hosted", "test": "test", "unknown": "warp", "broken": "test"} {
		p := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ProvisionerSpec{Driver: driver}}
		if err := c.Create(t.Context(), p); err != nil {
			t.Fatalf("create provisioner %s: %v", name, err)
		}
		if name == "broken" {
			p.Status.Conditions = []metav1.Condition{notReady("its region is gone")}
			if err := c.Status().Update(t.Context(), p); err != nil {
				t.Fatalf("break provisioner: %v", err)
			}
		}
	}
	for version, ready := range map[string]bool{"v1.34.7": true, "v1.35.1": true, "v1.36.1": true, "v1.36.2": true, "v1.36.9": false} {
		r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: version}, Spec: v1alpha1.ReleaseSpec{Source: v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}}}}
		err := c.Create(t.Context(), r)
		if apierrors.IsAlreadyExists(err) {
			continue // by another test of this binary
		}
		if err != nil {
			t.Fatalf("create release %s: %v", version, err)
		}
		if !ready {
			r.Status.Conditions = []metav1.Condition{notReady("the programs are not built on this machine")}
			if err := c.Status().Update(t.Context(), r); err != nil {
				t.Fatalf("unready release: %v", err)
			}
		}
	}
	return namespace
}

func notReady(message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Test", Message: message, LastTransitionTime: metav1.Now()}
}

func raw(json string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(json)} }

func TestValidator(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := catalogue(t, c)
	validator := &Validator{Client: c, Drivers: map[string]provision.Driver{
		"hosted": hosted.New(hosted.Config{Client: c, Secrets: c}),
		"test":   driver{&cloud{}, &operatortest.Injector{}},
	}}
	type change = func(*v1alpha1.Cluster)
	version := func(v string) change { return func(c *v1alpha1.Cluster) { c.Spec.Version = v } }
	emulated := func(v string) change { return func(c *v1alpha1.Cluster) { c.Spec.EmulatedVersion = v } }
	emulates := func(v string) change { return func(c *v1alpha1.Cluster) { c.Status.EmulatedVersion = v } }
	provisioner := func(ns, name string) change {
		return func(c *v1alpha1.Cluster) {
			c.Spec.ProvisionerRef = v1alpha1.ProvisionerReference{Namespace: ns, Name: name}
		}
	}
	parameters := func(json string) change { return func(c *v1alpha1.Cluster) { c.Spec.Parameters = raw(json) } }
	tests := map[string]struct {
		reason string
		old    []change // on top of a good cluster; nil for a creation
		now    []change
		field  string   // empty when it is taken
		want   []string // parts of the detail
	}{
		"Good":            {"A cluster that can be had is taken.", nil, nil, "", nil},
		"UnknownVersion":  {"A version that is not there is refused with those that are.", nil, []change{version("v1.31.0")}, "spec.version", []string{`"v1.31.0"`, "known: v1.34.7, v1.35.1, v1.36.1, v1.36.2, v1.36.9"}},
		"ReleaseNotReady": {"A version without programs cannot be used yet.", nil, []change{version("v1.36.9")}, "spec.version", []string{"v1.36.9 cannot be used yet", "not built"}},
		"VersionIsNone":   {"What the schema lets through and is no version.", nil, []change{version("v0.1.2")}, "spec.version", []string{"v0.1.2"}},
		"SkippedMinor":    {"No minor may be skipped.", []change{version("v1.34.7")}, []change{version("v1.36.1")}, "spec.version", []string{"skips a minor version", "v1.35.x", "want v1.35.1"}},
		"NextMinor":       {"The next minor is taken.", []change{version("v1.35.1")}, []change{version("v1.36.1")}, "", nil},
		"EarlierPatch":    {"A patch may be taken back.", []change{version("v1.36.2")}, []change{version("v1.36.1")}, "", nil},
		"EarlierMinor":    {"A minor may not.", []change{version("v1.36.2")}, []change{version("v1.35.1")}, "spec.version", []string{"which does not emulate v1.35", "kqueen cluster rollback"}},
		"NotYetEmulated":  {"Nor while it is only to be emulated.", []change{version("v1.36.2"), emulated("v1.35")}, []change{version("v1.35.1")}, "spec.version", []string{"does not emulate"}},
		"Emulated":        {"But when that is emulated.", []change{version("v1.36.2"), emulated("v1.35"), emulates("v1.35")}, []change{version("v1.35.1"), emulates("v1.35")}, "", nil},
		"EmulatesBefore":  {"The minor before can be emulated.", []change{version("v1.36.2")}, []change{version("v1.36.2"), emulated("v1.35")}, "", nil},
		"EmulatesOlder":   {"No older one can.", []change{version("v1.36.2")}, []change{version("v1.36.2"), emulated("v1.34")}, "spec.emulatedVersion", []string{`cannot emulate "v1.34"`, "set it to v1.35"}},
		"BackToWhatRuns": {
			"An upgrade that has not come true is taken back.", []change{version("v1.36.2"), func(c *v1alpha1.Cluster) { c.Status.Version = "v1.36.1" }}, []change{version("v1.36.1")}, "", nil,
		},
		"BackFurther": {
			"And not to what was before.", []change{version("v1.36.2"), func(c *v1alpha1.Cluster) { c.Status.Version = "v1.36.2" }}, []change{version("v1.35.1")}, "spec.version", []string{"does not emulate"},
		},
		"SameVersionUnready":  {"What runs may go on although its release is not ready any more.", []change{version("v1.36.9")}, []change{version("v1.36.9")}, "", nil},
		"MissingProvisioner":  {"A provisioner that is not there.", nil, []change{provisioner(namespace, "nobody")}, "spec.provisionerRef", []string{`"nobody"`, "kqueen provisioner list"}},
		"ForeignNamespace":    {"A provisioner of another organization.", nil, []change{provisioner("org-other", "hosted")}, "spec.provisionerRef", []string{`"org-other"`, "kqueen-system"}},
		"UnknownDriver":       {"A driver that this installation does not have.", nil, []change{provisioner(namespace, "unknown")}, "spec.provisionerRef", []string{`"warp"`}},
		"ProvisionerNotReady": {"A provisioner that does not work.", nil, []change{provisioner(namespace, "broken")}, "spec.provisionerRef", []string{"its region is gone"}},
		"HostedTakesNone":     {"A parameter that the driver does not have.", nil, []change{parameters(`{"size":3}`)}, "spec.parameters", []string{"size"}},
		"ParameterWrongType":  {"A parameter of the wrong type is named.", nil, []change{provisioner(namespace, "test"), parameters(`{"size":"big"}`)}, "spec.parameters.size", []string{"string", "integer"}},
		"ParameterTooSmall":   {"A parameter out of range is named.", nil, []change{provisioner(namespace, "test"), parameters(`{"size":0}`)}, "spec.parameters.size", []string{"1"}},
		"ParameterTaken":      {"A good parameter is taken.", nil, []change{provisioner(namespace, "test"), parameters(`{"size":3}`)}, "", nil},
		"ParameterChanged":    {"The driver sees the old parameters beside the new.", []change{provisioner(namespace, "test"), parameters(`{"size":3}`)}, []change{provisioner(namespace, "test"), parameters(`{"size":4}`)}, "spec.parameters.size", []string{"cannot be changed"}},
		"ParameterHad":        {"A parameter that an earlier version of the driver took keeps no user from changing the rest.", []change{provisioner(namespace, "test"), parameters(`{"size":0}`)}, []change{provisioner(namespace, "test"), parameters(`{"size":0}`), version("v1.36.1")}, "", nil},
		"DeletedBadVersion":   {"What is being deleted may lose its finalizer whatever its spec says.", []change{version("v1.36.2")}, []change{version("v1.31.0"), func(c *v1alpha1.Cluster) { now := metav1.Now(); c.DeletionTimestamp = &now }}, "", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := validate(t.Context(), validator, namespace, tc.old, tc.now)
			if tc.field == "" {
				if err != nil {
					t.Errorf("%s\ngot %v", tc.reason, err)
				}
				return
			}
			var status apierrors.APIStatus
			if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) != 1 {
				t.Fatalf("%s\nwant one cause, got %v", tc.reason, err)
			}
			cause := status.Status().Details.Causes[0]
			if cause.Field != tc.field {
				t.Errorf("%s\nthe field is %s, want %s", tc.reason, cause.Field, tc.field)
			}
			for _, part := range tc.want {
				if !strings.Contains(cause.Message, part) {
					t.Errorf("%s\nwant %q in %q", tc.reason, part, cause.Message)
				}
			}
		})
	}
}

func validate(ctx context.Context, v *Validator, namespace string, old, now []func(*v1alpha1.Cluster)) error {
	build := func(generation int64, changes []func(*v1alpha1.Cluster)) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Generation: generation}}
		c.Spec.Version = "v1.36.2"
		c.Spec.ProvisionerRef = v1alpha1.ProvisionerReference{Namespace: namespace, Name: "hosted"}
		for _, change := range changes {
			change(c)
		}
		return c
	}
	if old == nil {
		_, err := v.ValidateCreate(ctx, build(1, now))
		return err
	}
	_, err := v.ValidateUpdate(ctx, build(1, old), build(2, now))
	return err
}

// TestValidatorPassesOnFailures: an API server that does not answer is no fault of the cluster.
func TestValidatorPassesOnFailures(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := catalogue(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := validate(ctx, &Validator{Client: c}, namespace, nil, nil)
	if !errors.Is(err, context.Canceled) || apierrors.IsInvalid(err) {
		t.Errorf("want the failure itself, got %v", err)
	}
}
