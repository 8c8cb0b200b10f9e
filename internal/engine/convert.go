package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/internal/engine/conversion"
	"kqueen.io/kqueen/internal/platform/admission"
)

const (
	// servedLook is the time between two looks whether the API server serves a definition that was written, and servedWithin
	// how long that may take. It follows definitions by a watch.
	servedLook   = 50 * time.Millisecond
	servedWithin = 30 * time.Second
)

// isOlder says whether the objects of a definition may be of an earlier schema. The error says that they are of a later one, of
// which this KQueen would lose what it does not know. It is pure.
func isOlder(have *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	installed := 1
	if text, ok := have.Annotations[crds.SchemaAnnotation]; ok {
		var err error
		if installed, err = strconv.Atoi(text); err != nil {
			return false, fmt.Errorf("annotation %s is %q; want a number", crds.SchemaAnnotation, text)
		}
	}
	if installed > crds.Schema {
		return false, fmt.Errorf("objects are stored by a later KQueen, in schema %d; this one knows schema %d and would lose what is new there: "+
			"run the later KQueen", installed, crds.Schema)
	}
	return installed < crds.Schema, nil
}

// convertAll converts all objects of a kind, of which have is the definition. Until the one that is wanted takes its place, it
// says nothing of its schema, so that the next start repeats it all:
//
//  1. The definition takes objects of any form: nothing is pruned, filled in or refused by what it will say.
//  2. Each object is converted, its status and the rest of it by an update each.
//  3. The caller writes the definition that is wanted, with its schema.
//
// KQueen's own webhook does not answer yet and is taken out of the way first; it comes back when it is served.
func convertAll(ctx context.Context, c client.Client, want *apiextensionsv1.CustomResourceDefinition) error {
	if err := admission.Suspend(ctx, c); err != nil {
		return err
	}
	if err := replaceDefinition(ctx, c, loosened(want)); err != nil {
		return fmt.Errorf("have it take objects of an earlier KQueen: %w", err)
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(schema.GroupVersionKind{Group: want.Spec.Group, Version: want.Spec.Versions[0].Name, Kind: want.Spec.Names.ListKind})
	if err := c.List(ctx, all); err != nil {
		return fmt.Errorf("list objects of an earlier KQueen: %w", err)
	}
	var problems error
	for i := range all.Items {
		problems = errors.Join(problems, convert(ctx, c, &all.Items[i]))
	}
	return problems
}

// loosened is a definition of which objects of any form are taken. It is pure.
func loosened(want *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	loose := want.DeepCopy()
	delete(loose.Annotations, crds.SchemaAnnotation)
	for i := range loose.Spec.Versions {
		loose.Spec.Versions[i].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	}
	return loose
}

// convert converts one object. The API server may serve the former definition for a moment, and would prune what it does not know: so
// each update is first made for a trial, until its answer is what was sent.
func convert(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, servedLook, servedWithin, true, func(ctx context.Context) (bool, error) {
		want, changed, err := conversion.Convert(object)
		if err != nil || !changed {
			return true, err
		}
		if last = put(ctx, c, object, want); last == nil {
			return true, nil
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return true, client.IgnoreNotFound(err)
		}
		return false, nil
	})
	if wait.Interrupted(err) && last != nil {
		err = last
	}
	if _, named := errors.AsType[*conversion.Error](err); err == nil || named {
		return err
	}
	return fmt.Errorf("convert %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
}

// put writes what is new of an object. Its status and the rest of it are an update each.
func put(ctx context.Context, c client.Client, have, want *unstructured.Unstructured) error {
	version := have.GetResourceVersion()
	for _, part := range []struct {
		name  string
		write func(o *unstructured.Unstructured, trial bool) error
	}{
		{"status", func(o *unstructured.Unstructured, trial bool) error {
			return c.Status().Update(ctx, o, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: dryRun(trial)}})
		}},
		{"spec", func(o *unstructured.Unstructured, trial bool) error {
			return c.Update(ctx, o, &client.UpdateOptions{DryRun: dryRun(trial)})
		}},
	} {
		if equality.Semantic.DeepEqual(have.Object[part.name], want.Object[part.name]) {
			continue
		}
		for _, trial := range []bool{true, false} {
			got := want.DeepCopy()
			got.SetResourceVersion(version)
			if err := part.write(got, trial); err != nil {
				return client.IgnoreNotFound(err)
			}
			if !equality.Semantic.DeepEqual(want.Object[part.name], got.Object[part.name]) {
				return apierrors.NewServiceUnavailable("the API server does not serve the definition yet that takes objects of any form")
			}
			if !trial {
				version = got.GetResourceVersion()
			}
		}
	}
	return nil
}

func dryRun(trial bool) []string {
	if trial {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// converted are the resources of which objects are converted, or a subresource of them.
func converted(subresource string) []string {
	resources := []string{
		"backups", "backupschedules", "backupstores", "clusters", "controlplanes", "datastores", "identityproviders", "machines", "nodepools", "organizations", "provisioners", "releases",
		"restores", "upgrades",
	}
	for i := range resources {
		resources[i] += subresource
	}
	return resources
}
