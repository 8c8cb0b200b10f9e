package nodepool

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

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
