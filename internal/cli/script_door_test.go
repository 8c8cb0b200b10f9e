//go:build linux

package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// onlyOwner are the scripts that do not run through the door, and why.
func onlyOwner() map[string]string {
	const signsIn = "it has a door of its own and signs in there"
	const owners = "it is about the flags and the files of the owner of the machine"
	const nowhere = "it reaches no installation"
	return map[string]string{
		"help": nowhere, "help-join": nowhere, "help-nodes": nowhere, "create-usage": nowhere, "nodepool-usage": nowhere, "node-join": nowhere,
		"credential": signsIn, "login": signsIn, "login-terminal": signsIn, "token": signsIn, "user": signsIn, "organization": signsIn,
		"login-browser": signsIn, "identityprovider": signsIn,
		"denied": owners, "not-running": owners, "kubeconfig": owners, "version": owners,
		"create-invalid": "the door says what its own schema finds before the API server says the rest",
		"node-drain":     "the plane, which is also the cluster there, does not trust the door's issuer; test/e2e drains a node through the door",
	}
}

// TestScriptsThroughDoor runs the scripts of TestScripts once more, as an operator of the organization who has nothing
// but HTTPS and a token. A script says the same of both ways.
func TestScriptsThroughDoor(t *testing.T) {
	c, config := controlplanetest.Client(t), controlplanetest.Config(t)
	clearPlane(t, c)
	makeShared(t, c)
	there := newDoors(t)
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	except := onlyOwner()
	p := scripts(t, config, c)
	for _, path := range all {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		if except[name] == "" {
			p.Files = append(p.Files, path)
		}
		delete(except, name)
	}
	for name := range except {
		t.Errorf("script %s is not there", name)
	}
	p.Setup = func(env *testscript.Env) error {
		if err := setUp(t.Context(), c, config, env); err != nil {
			return err
		}
		at := place{env.WorkDir, env.Getenv(connection.OrganizationVariable), env.Defer, env.Setenv}
		identities, err := there.start(at, fresh{c, there.cached}, []string{"olive=operator"})
		if err != nil {
			return err
		}
		session, err := identities.Passwords.SignIn(t.Context(), "olive", goodPassword, access.Origin{})
		if err != nil {
			return err
		}
		env.Setenv(connection.ServerVariable, env.Getenv("DOOR"))
		env.Setenv(connection.TokenVariable, session.Token.Reveal())
		env.Setenv(connection.CaVariable, filepath.Join(env.WorkDir, "ca.pem"))
		return nil
	}
	testscript.Run(t, p)
}

// fresh reads from the plane itself, so that what scripts make beside the door is seen at once. Only who belongs to which
// organization comes from the cache, which has an index for that.
type fresh struct {
	client.Reader

	cached client.Reader
}

// List implements client.Reader.
func (f fresh) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.OrganizationList); ok {
		return f.cached.List(ctx, list, options...)
	}
	return f.Reader.List(ctx, list, options...)
}

// clearPlane removes what scripts left.
func clearPlane(t *testing.T, c client.Client) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&v1alpha1.ClusterList{}, &v1alpha1.NodePoolList{}, &v1alpha1.MachineList{}, &v1alpha1.ControlPlaneList{}, &v1alpha1.OrganizationList{},
		&eventsv1.EventList{}, &corev1.SecretList{}, &corev1.PodList{}, &corev1.NodeList{}, &policyv1.PodDisruptionBudgetList{},
		&admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{},
	} {
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		err := apimeta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if namespace := o.GetNamespace(); namespace != "" && !strings.HasPrefix(namespace, v1alpha1.NamespacePrefix) {
				return nil
			}
			if len(o.GetFinalizers()) > 0 && slices.Contains(o.GetFinalizers(), testFinalizer) {
				o.SetFinalizers(nil)
				if err := client.IgnoreNotFound(c.Update(t.Context(), o)); err != nil {
					return err
				}
			}
			return client.IgnoreNotFound(c.Delete(t.Context(), o, client.GracePeriodSeconds(0)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
