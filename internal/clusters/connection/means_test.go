//go:build linux

package connection

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/enrollment"
)

func TestMeansOf(t *testing.T) {
	const enrolled = `{"identity":"aWQ=","at":"2026-03-01T12:00:00Z"}`
	agent, err := enrollment.Read([]byte(enrolled))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		kubeconfig, agent string
		want              Means
		damaged           bool
	}{
		"nothing":               {},
		"kubeconfig":            {kubeconfig: "k", want: Means{Kubeconfig: []byte("k")}},
		"agent that is awaited": {agent: `{"oneTime":{"hash":"aA=="}}`},
		"agent":                 {agent: enrolled, want: Means{Agent: &agent}},
		"kubeconfig set later":  {kubeconfig: "k", agent: enrolled, want: Means{Kubeconfig: []byte("k")}},
		"damaged record":        {agent: `{`, damaged: true},
		"kubeconfig beside one": {kubeconfig: "k", agent: `{`, want: Means{Kubeconfig: []byte("k")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			kept := map[string][]byte{v1alpha1.CredentialKubeconfig: []byte(c.kubeconfig), v1alpha1.CredentialAgent: []byte(c.agent)}
			got, err := MeansOf(kept)
			if (err != nil) != c.damaged {
				t.Fatalf("error %v, want one: %t", err, c.damaged)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("means (-want +got):\n%s", diff)
			}
			_, err = foundIn(&corev1.Secret{Data: kept}, true)
			if none := c.want.Kubeconfig == nil && c.want.Agent == nil && !c.damaged; errors.Is(err, ErrNoCredentials) != none {
				t.Errorf("it says %v, want that there are no credentials: %t", err, none)
			}
		})
	}
}
