package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
	"kqueen.io/kqueen/internal/tenancy/role"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// connect returns a client that knows definitions too, and whose updates of definitions are served when they return.
func connect(t *testing.T) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(controlplanetest.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := c.Update(ctx, o, opts...); err != nil {
				return err
			}
			if crd, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
				return served(ctx, c, crd)
			}
			return nil
		},
	})
}

// served waits until the API server takes objects as a definition says: of any form, or not.
func served(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	return wait.PollUntilContextTimeout(ctx, servedLook, servedWithin, true, func(ctx context.Context) (bool, error) {
		probe := &unstructured.Unstructured{Object: map[string]any{"probe": "kept"}}
		probe.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.Kind})
		probe.SetName("probe")
		if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
			probe.SetNamespace(metav1.NamespaceDefault)
		}
		err := c.Create(ctx, probe, client.DryRunAll)
		anyForm := err == nil && probe.Object["probe"] == "kept"
		return anyForm == ptr.Deref(root.XPreserveUnknownFields, false), nil
	})
}

// definitions are those of schema 1, by kind.
func definitions(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "schema-1", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no definitions of schema 1: %v", err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[crd.Spec.Names.Kind] = crd
	}
	return all
}

// stored are objects as schema 1 has them, and as they are afterwards. A status is as its reconciler wrote it.
var stored = map[string]struct{ before, after string }{
	"Cluster": {
		`{"spec":{"version":"v1.36.3","cni":"flannel","auditLog":"full","podSecurity":"baseline"},"status":{"observedGeneration":1,"foundWith":"ab","nextTry":"2026-01-02T03:04:05Z"}}`,
		`{"spec":{"version":"v1.36.3","cni":"Flannel","auditLog":"RequestResponse","podSecurity":"baseline","provisionerRef":{"name":"hosted","namespace":"kqueen-system"},` +
			`"network":{"podCIDR":"10.244.0.0/16","serviceCIDR":"10.96.0.0/16","dnsDomain":"cluster.local"}},` +
			`"status":{"observedGeneration":1,"foundWith":"ab","nextRetryTime":"2026-01-02T03:04:05Z"}}`,
	},
	"ControlPlane": {
		`{"spec":{"version":"v1.36.3","dataStore":"mine","auditLog":"none","size":"small"},"status":{"storeBytes":131072,"renewAt":"2026-01-02T03:04:05Z","trust":[{"name":"ca","fingerprint":"sha256:00"}]}}`,
		`{"spec":{"version":"v1.36.3","dataStoreName":"mine","auditLog":"None","size":"small","network":{"podCIDR":"10.244.0.0/16","serviceCIDR":"10.96.0.0/16","dnsDomain":"cluster.local"}},` +
			`"status":{"storeUsed":"128Ki","renewalTime":"2026-01-02T03:04:05Z","trust":[{"name":"ca","fingerprint":"sha256:00"}]}}`,
	},
	"DataStore": {
		`{"spec":{"endpoints":["https://192.0.2.1:2379"],"credentialsRef":{"namespace":"a","name":"b"}},"status":{"nextTry":"2026-01-02T03:04:05Z"}}`,
		`{"spec":{"endpoints":["https://192.0.2.1:2379"],"credentialsRef":{"namespace":"a","name":"b"}},"status":{"nextRetryTime":"2026-01-02T03:04:05Z"}}`,
	},
	"Machine": {
		`{"spec":{"clusterName":"demo","version":"v1.36.3","provider":"local","drain":{"timeout":"90s"}},"status":{"lifeBegan":"2026-01-02T03:04:05Z","joinedAt":"2026-01-02T03:04:06Z","drainBegan":"2026-01-02T03:04:07Z"}}`,
		`{"spec":{"clusterName":"demo","version":"v1.36.3","provider":"local","drain":{"timeoutSeconds":90}},` +
			`"status":{"lifeTransitionTime":"2026-01-02T03:04:05Z","joinTime":"2026-01-02T03:04:06Z","drainStartTime":"2026-01-02T03:04:07Z"}}`,
	},
	"NodePool": {
		`{"spec":{"clusterName":"demo","replicas":3,"template":{"drain":{"timeout":"0"}},"health":{"unreadyTimeout":"1m30s"}},"status":{"replicas":3}}`,
		`{"spec":{"clusterName":"demo","replicas":3,"template":{"provider":"local","drain":{"timeoutSeconds":0}},` +
			`"health":{"unreadyTimeoutSeconds":90,"startupTimeoutSeconds":900,"maxUnhealthy":"40%"},"rollout":{"maxSurge":1,"maxUnavailable":0}},"status":{"replicas":3}}`,
	},
	"Organization": {
		`{"spec":{"displayName":"Blue","provisioners":["hosted"],"dataStores":["mine"],"members":[{"user":"alice","role":"owner"}]},"status":{"namespace":"org-blue"}}`,
		`{"spec":{"displayName":"Blue","provisionerNames":["hosted"],"dataStoreNames":["mine"],"members":[{"user":"alice","role":"owner"}]},"status":{"namespace":"org-blue"}}`,
	},
	"Provisioner": {
		`{"spec":{"driver":"hosted","parameters":{"dataStore":"mine","size":"large"}},"status":{"nextTry":"2026-01-02T03:04:05Z"}}`,
		`{"spec":{"driver":"hosted","parameters":{"dataStoreName":"mine","size":"large"}},"status":{"nextRetryTime":"2026-01-02T03:04:05Z"}}`,
	},
}

// store puts the definition of schema 1 in its place, and an object of it, past all admission.
func store(t *testing.T, c client.WithWatch, crd *apiextensionsv1.CustomResourceDefinition, name string) *unstructured.Unstructured {
	t.Helper()
	// By a definition that takes all, each object is stored as it is written.
	loose := loosened(crd)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(stored[crd.Spec.Names.Kind].before), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.Kind})
	o.SetName(name)
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		o.SetNamespace(controlplanetest.Namespace(t, c))
	}
	status := o.DeepCopy()
	err := replaceDefinition(t.Context(), c, loose)
	if err == nil {
		err = c.Create(t.Context(), o)
	}
	if err == nil {
		status.SetResourceVersion(o.GetResourceVersion())
		err = c.Status().Update(t.Context(), status)
	}
	if err == nil {
		err = replaceDefinition(t.Context(), c, crd.DeepCopy())
	}
	if err != nil {
		t.Fatalf("store a %s of schema 1: %v", crd.Spec.Names.Kind, err)
	}
	return o
}

// parts are spec and status of an object.
func parts(ctx context.Context, c client.Client, of *unstructured.Unstructured) (map[string]any, error) {
	o := of.DeepCopy()
	if err := c.Get(ctx, client.ObjectKeyFromObject(of), o); err != nil {
		return nil, err
	}
	return map[string]any{"spec": o.Object["spec"], "status": o.Object["status"]}, nil
}

func wanted(t *testing.T, kind string) map[string]any {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"a",` + strings.TrimPrefix(stored[kind].after, "{"))); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"spec": o.Object["spec"], "status": o.Object["status"]}
}

// TestStoredObjectsAreConverted: what an installation of before has stored is there afterwards with its values, though the webhook
// of its last life does not answer and an organization's settings are guarded; a second start changes nothing.
func TestStoredObjectsAreConverted(t *testing.T) {
	c, all := connect(t), definitions(t)
	if err := role.Keep(t.Context(), c, role.Guard()); err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for kind := range stored {
		objects[kind] = store(t, c, all[kind], "demo")
	}
	hook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kqueen"}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "all.kqueen.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionv1.SideEffectClassNoneOnDryRun),
		ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To("https://localhost:1/validate")},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"*"}},
		}},
	}}}
	if err := c.Create(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	if err := installKinds(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for kind, o := range objects {
		got, err := parts(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted(t, kind), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := installKinds(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for kind, o := range objects {
		again := o.DeepCopy()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), again); err != nil || again.GetResourceVersion() != o.GetResourceVersion() {
			t.Errorf("%s was written by a second start: %v", kind, err)
		}
	}
}

// TestUnderFaults: a failure and a crash at every call of the conversion lose nothing.
func TestUnderFaults(t *testing.T) {
	c, all, n := connect(t), definitions(t), 0
	operatortest.Run(t, func(t *testing.T) operatortest.World {
		n++
		o := store(t, c, all["NodePool"], fmt.Sprintf("demo-%d", n))
		t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), o) })
		done := func(ctx context.Context) (bool, error) {
			have := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(all["NodePool"]), have); err != nil {
				return false, err
			}
			older, err := isOlder(have)
			return !older, err
		}
		return operatortest.World{
			Reconciler: func(i *operatortest.Injector) reconcile.Reconciler {
				return reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					if over, err := done(ctx); over || err != nil {
						return reconcile.Result{}, err
					}
					return reconcile.Result{}, installKind(ctx, i.Client(c), current(t, "NodePool"))
				})
			},
			Object: func(context.Context) (operator.Object, error) {
				return nil, apierrors.NewNotFound(schema.GroupResource{}, "a definition has no conditions of ours")
			},
			Done:     done,
			Snapshot: func(ctx context.Context) (any, error) { return parts(ctx, c, o) },
		}
	})
}

// current is the definition of a kind as this version has it.
func current(t *testing.T, kind string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Names.Kind == kind })
	return all[i]
}

// TestCannotBeConverted: the start stops and names the object; what is right is converted, and the rest when it was put right.
func TestCannotBeConverted(t *testing.T) {
	c, all := connect(t), definitions(t)
	right, wrong := store(t, c, all["NodePool"], "right"), store(t, c, all["NodePool"], "wrong")
	spoil := func(timeout string) {
		t.Helper()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"health":{"unreadyTimeout":"`+timeout+`"}}}`))
		if err := c.Patch(t.Context(), wrong, patch); err != nil {
			t.Fatal(err)
		}
	}
	if err := replaceDefinition(t.Context(), c, loosened(all["NodePool"])); err != nil {
		t.Fatal(err)
	}
	spoil("soon")
	err := installKind(t.Context(), c, current(t, "NodePool"))
	for _, want := range []string{wrong.GetNamespace() + "/wrong", "spec.health.unreadyTimeout", `"soon" is not a duration`, "kubectl edit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want it to say %q, got: %v", want, err)
		}
	}
	if got, err := parts(t.Context(), c, right); err != nil || got["spec"].(map[string]any)["health"].(map[string]any)["unreadyTimeoutSeconds"] != int64(90) {
		t.Errorf("the other one is not converted: %v, %v", got, err)
	}
	spoil("2m")
	if err := installKind(t.Context(), c, current(t, "NodePool")); err != nil {
		t.Fatal(err)
	}
	if got, err := parts(t.Context(), c, wrong); err != nil || got["spec"].(map[string]any)["health"].(map[string]any)["unreadyTimeoutSeconds"] != int64(120) {
		t.Errorf("it is not converted: %v, %v", got, err)
	}
}

// TestIsOlder: objects of a later KQueen are left alone.
func TestIsOlder(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		older       bool
		problem     string
	}{
		"none":      {nil, true, ""},
		"the first": {map[string]string{crds.SchemaAnnotation: "1"}, true, ""},
		"this one":  {map[string]string{crds.SchemaAnnotation: fmt.Sprint(crds.Schema)}, false, ""},
		"a later":   {map[string]string{crds.SchemaAnnotation: fmt.Sprint(crds.Schema + 1)}, false, "run the later KQueen"},
		"nonsense":  {map[string]string{crds.SchemaAnnotation: "new"}, false, "want a number"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			older, err := isOlder(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations}})
			if older != tc.older || (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("got %t, %v", older, err)
			}
		})
	}
}
