package objects

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// requireFresh wants a caller who has signed in a short time ago for what others sign in by, and for members who are named or
// get a higher role; those a token that mints may write, too. Before is nil for what is new. What the caller writes bears the
// revision of before, so that other members cannot come in between.
func (c collection) requireFresh(ctx context.Context, before, after *unstructured.Unstructured) error {
	switch {
	case c.Name == "IdentityProvider":
		return chain.RequireFresh(ctx)
	case c.Name == "Organization" && role.Raises(membersIn(before), membersIn(after)):
		// Only who may is told so; who may create one was asked before.
		if before != nil {
			if err := c.rights.Require(ctx, rights.Act{Verb: "update", Resource: c.Plural, Name: before.GetName()}); err != nil {
				return err
			}
		}
		return chain.RequireMint(ctx)
	}
	return nil
}

// membersIn are the members that an organization names. What has not the form of one is none: the API server refuses it. It
// is pure.
func membersIn(o *unstructured.Unstructured) []v1alpha1.Member {
	if o == nil {
		return nil
	}
	spec, _ := o.Object["spec"].(map[string]any)
	list, _ := spec["members"].([]any)
	var members []v1alpha1.Member
	for _, item := range list {
		fields, _ := item.(map[string]any)
		m := v1alpha1.Member{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &m); err != nil {
			m = v1alpha1.Member{}
		}
		members = append(members, m)
	}
	return members
}
