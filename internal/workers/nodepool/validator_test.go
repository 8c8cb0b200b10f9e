package nodepool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
)

// host has two processors, or cannot run machines at all.
type host struct{ unable bool }

func (h host) Possible(s machine.Size) error {
	switch {
	case h.unable:
		return fmt.Errorf("%w: KQueen does not run as root", machine.ErrUnsupported)
	case s.MilliCPU > 2000:
		return &invalid.Error{Field: "spec.resources.cpu", Problem: "is more than this host has; choose at most 2"}
	}
	return nil
}

// TestValidator: what can never be is refused when it is asked for, and what is there already goes on.
func TestValidator(t *testing.T) {
	pool := func(provider, cpu string, generation int64) *v1alpha1.NodePool {
		p := &v1alpha1.NodePool{}
		p.Name, p.Generation, p.Spec.Template.Provider = "workers", generation, provider
		if cpu != "" {
			p.Spec.Template.Resources = &v1alpha1.MachineResources{CPU: ptr.To(resource.MustParse(cpu))}
		}
		return p
	}
	const local, manual = v1alpha1.ProviderLocal, v1alpha1.ProviderManual
	cases := map[string]struct {
		host     host
		old, new *v1alpha1.NodePool
		want     string
	}{
		"Fits":       {host{}, nil, pool(local, "2", 1), ""},
		"NotBounded": {host{}, nil, pool(local, "", 1), ""},
		"TooLarge":   {host{}, nil, pool(local, "3", 1), "spec.template.resources.cpu: Forbidden: is more than this host has; choose at most 2"},
		"Unable":     {host{unable: true}, nil, pool(local, "", 1), "spec.template.provider: Forbidden: this host cannot run machines: KQueen does not run as root"},
		"Manual":     {host{unable: true}, nil, pool(manual, "", 1), ""},
		"Scaled":     {host{unable: true}, pool(local, "3", 1), pool(local, "3", 2), ""},
		"Grown":      {host{}, pool(local, "1", 1), pool(local, "3", 2), "spec.template.resources.cpu: Forbidden: is more than this host has; choose at most 2"},
		"Labelled":   {host{}, pool(local, "1", 1), pool(local, "3", 1), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := Validator{Possible: map[string]machine.Possible{local: c.host}}
			_, err := v.ValidateCreate(t.Context(), c.new)
			if c.old != nil {
				_, err = v.ValidateUpdate(t.Context(), c.old, c.new)
			}
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.HasSuffix(got, c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestValidatorAsksTheCluster: a cluster that has no pools refuses one by its name; what cannot be found out is no refusal of the pool's.
func TestValidatorAsksTheCluster(t *testing.T) {
	p := &v1alpha1.NodePool{}
	p.Namespace, p.Name, p.Spec.ClusterName = "org-blue", "workers", "far"
	unknown := errors.New("the admin plane is away")
	for name, tc := range map[string]struct{ says, want error }{
		"Takes":   {nil, nil},
		"Refuses": {invalid.New("spec.clusterName", "cluster far was adopted"), nil},
		"Unknown": {unknown, unknown},
	} {
		asked := client.ObjectKey{}
		v := Validator{Takes: func(_ context.Context, c client.ObjectKey) error { asked = c; return tc.says }}
		_, err := v.ValidateCreate(t.Context(), p)
		switch {
		case asked != client.ObjectKey{Namespace: "org-blue", Name: "far"}:
			t.Errorf("%s: asked about %v", name, asked)
		case name == "Refuses" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.clusterName")):
			t.Errorf("%s: got %v", name, err)
		case name != "Refuses" && !errors.Is(err, tc.want):
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
	}
}
