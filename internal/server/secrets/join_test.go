package secrets

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

func TestNotJoinable(t *testing.T) {
	now := metav1.Now()
	for want, m := range map[string]*v1alpha1.Machine{
		"":                             {Spec: v1alpha1.MachineSpec{Provider: v1alpha1.ProviderManual}},
		"the machine is being removed": {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Spec: v1alpha1.MachineSpec{Provider: v1alpha1.ProviderManual}},
		"the machine is created by the provider local, which joins it": {Spec: v1alpha1.MachineSpec{Provider: v1alpha1.ProviderLocal}},
	} {
		if got := notJoinable(m); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
