package engine

import (
	"context"
	"fmt"
	"maps"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// StoreName is the DataStore of the etcd that an engine offers.
const StoreName = "default"

// installedMarker is a ConfigMap that says that the first objects were made once: what an
// administrator has deleted since does not come back.
const installedMarker = "installed"

// Install installs KQueen's kinds, waits until the API server serves them, and creates the first objects.
func Install(ctx context.Context, c client.WithWatch, store *Store, installed []release.Binaries, backups string) error {
	if err := installKinds(ctx, c); err != nil {
		return err
	}
	return installObjects(ctx, c, store, installed, backups)
}

// installKinds installs the custom resource definitions and waits until all are served. Objects of before are converted.
func installKinds(ctx context.Context, c client.WithWatch) error {
	definitions, err := crds.All()
	if err != nil {
		return err
	}
	for _, want := range definitions {
		if err := installKind(ctx, c, want); err != nil {
			return fmt.Errorf("install kind %s: %w", want.Spec.Names.Kind, err)
		}
	}
	for _, crd := range definitions {
		if err := established(ctx, c, crd.Name); err != nil {
			return err
		}
	}
	return nil
}

// installKind installs one definition.
func installKind(ctx context.Context, c client.Client, want *apiextensionsv1.CustomResourceDefinition) error {
	have := &apiextensionsv1.CustomResourceDefinition{}
	err := c.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, want)
	}
	if err != nil {
		return err
	}
	older, err := isOlder(have)
	if err != nil {
		return err
	}
	if older {
		if err := convertAll(ctx, c, want); err != nil {
			return err
		}
	}
	return replaceDefinition(ctx, c, want)
}

// replaceDefinition writes over a definition, whose status the API server may write meanwhile.
func replaceDefinition(ctx context.Context, c client.Client, want *apiextensionsv1.CustomResourceDefinition) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		have := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
			return err
		}
		want.ResourceVersion = have.ResourceVersion
		return c.Update(ctx, want)
	})
}

// established waits by watch until a definition is served.
func established(ctx context.Context, c client.WithWatch, name string) error {
	w, err := c.Watch(ctx, &apiextensionsv1.CustomResourceDefinitionList{}, client.MatchingFields{"metadata.name": name})
	if err != nil {
		return fmt.Errorf("watch kind %s: %w", name, err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		crd, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			continue
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
	}
	return fmt.Errorf("wait for kind %s: the watch ended: %w", name, context.Cause(ctx))
}

// installObjects makes what every installation has: the namespace of the system, the roles, the engine's data store, a
// Release for each version on disk, and, the first time only, provisioners, an organization and a store of backups in the folder backups.
func installObjects(ctx context.Context, c client.Client, store *Store, binaries []release.Binaries, backups string) error {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if err := ensure(ctx, c, system); err != nil {
		return err
	}
	if err := role.Keep(ctx, c, append(role.Shared(), role.Guard()...)); err != nil {
		return err
	}
	if store != nil {
		if err := InstallStore(ctx, c, store); err != nil {
			return err
		}
	}
	for _, b := range binaries {
		if err := ensureRelease(ctx, c, b.Version); err != nil {
			return err
		}
	}
	return installOnce(ctx, c, backups)
}

// InstallStore creates the engine's data store and its credentials, or brings them up to date.
func InstallStore(ctx context.Context, c client.Client, store *Store) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "datastore-default"}}
	secret.Data = map[string][]byte{}
	for _, name := range []string{"ca.crt", "ca.key", "root.crt", "root.key"} {
		secret.Data[name] = store.Keys[name]
	}
	if err := replace(ctx, c, secret); err != nil {
		return err
	}
	ds := &v1alpha1.DataStore{ObjectMeta: metav1.ObjectMeta{Name: StoreName}}
	ds.Spec.Endpoints = []string{store.Endpoint}
	ds.Spec.CredentialsRef = v1alpha1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}
	return replace(ctx, c, ds)
}

func installOnce(ctx context.Context, c client.Client, backups string) error {
	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: installedMarker}}
	err := c.Get(ctx, client.ObjectKeyFromObject(marker), marker)
	if err == nil {
		return installLater(ctx, c, marker, backups)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	hosted := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "hosted"}}
	hosted.Spec.Driver = "hosted"
	organization := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	organization.Spec.DisplayName = "Default organization"
	// The administrator of a new installation tries it out here. Every other organization is allowed this host's machines by name.
	organization.Spec.MachineProviders = []string{v1alpha1.ProviderLocal, v1alpha1.ProviderManual}
	for _, object := range []client.Object{hosted, organization, marker} {
		if err := ensure(ctx, c, object); err != nil {
			return err
		}
	}
	return installLater(ctx, c, marker, backups)
}

// later are first objects that installations of before had not. The marker says under the mark of each that it was created: one that an
// administrator has deleted stays away.
type later struct {
	mark   string
	object client.Object
}

func laterObjects(backups string) []later {
	imported := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "imported"}}
	imported.Spec.Driver = "imported"
	store := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	store.Spec.Directory = backups
	return []later{{"imported", imported}, {"backups", store}}
}

func installLater(ctx context.Context, c client.Client, marker *corev1.ConfigMap, backups string) error {
	data := maps.Clone(marker.Data)
	for _, l := range laterObjects(backups) {
		if data[l.mark] != "" {
			continue
		}
		if err := ensure(ctx, c, l.object); err != nil {
			return err
		}
		if data == nil {
			data = map[string]string{}
		}
		data[l.mark] = "true"
	}
	if maps.Equal(data, marker.Data) {
		return nil
	}
	return replace(ctx, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: marker.Namespace, Name: marker.Name}, Data: data})
}

// ensure creates an object that is not there.
func ensure(ctx context.Context, c client.Client, object client.Object) error {
	if err := c.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// replace creates an object or writes over what is there.
func replace(ctx context.Context, c client.Client, object client.Object) error {
	have := object.DeepCopyObject().(client.Object)
	err := c.Get(ctx, client.ObjectKeyFromObject(object), have)
	if apierrors.IsNotFound(err) {
		return ensure(ctx, c, object)
	}
	if err != nil {
		return fmt.Errorf("read %T %s: %w", object, object.GetName(), err)
	}
	object.SetResourceVersion(have.GetResourceVersion())
	object.SetFinalizers(have.GetFinalizers())
	if err := c.Update(ctx, object); err != nil {
		return fmt.Errorf("update %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// Rules are what Install needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		operator.Rule(apiextensionsv1.GroupName, []string{"customresourcedefinitions"}, "get", "list", "watch", "create", "update"),
		operator.Rule(admissionv1.GroupName, []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"}, "get", "create", "update"),
		operator.Rule(rbacv1.GroupName, []string{"roles", "clusterroles"}, "get", "create", "update", "bind", "escalate"),
		operator.Rule(rbacv1.GroupName, []string{"rolebindings", "clusterrolebindings"}, "get", "create", "update", "delete"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"backupstores", "datastores", "organizations", "provisioners", "releases"}, "create"),
		operator.Rule(v1alpha1.GroupVersion.Group, converted(""), "get", "list", "update"),
		operator.Rule(v1alpha1.GroupVersion.Group, converted("/status"), "update"),
		operator.Rule("", []string{"namespaces"}, "create"),
		operator.Rule("", []string{"secrets", "configmaps"}, "get", "create", "update"),
	}
}
