//go:build linux

package connection

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/enrollment"
)

// Means is by what an adopted cluster is reached: by one of both. The zero value is of one that can not be reached yet.
type Means struct {
	// Kubeconfig is that of a user, not parsed.
	Kubeconfig []byte
	// Agent has enrolled.
	Agent *enrollment.Record
}

// MeansOf says by what an adopted cluster is reached, of the credentials that are kept for it. A kubeconfig counts first: an
// agent that enrolls drops it, so that one which is there was set later. It fails for a record of an agent that is damaged. It is pure.
func MeansOf(credentials map[string][]byte) (Means, error) {
	if kubeconfig := credentials[v1alpha1.CredentialKubeconfig]; len(kubeconfig) > 0 {
		return Means{Kubeconfig: kubeconfig}, nil
	}
	agent, err := enrollment.Read(credentials[v1alpha1.CredentialAgent])
	if err != nil || !agent.Enrolled() {
		return Means{}, err
	}
	return Means{Agent: &agent}, nil
}

// found is the Secret by which a cluster is reached.
type found struct {
	secret *corev1.Secret
	// means are those of an adopted cluster.
	means   Means
	adopted bool
}

func foundIn(secret *corev1.Secret, adopted bool) (found, error) {
	f := found{secret: secret, adopted: adopted}
	if !adopted {
		return f, nil
	}
	var err error
	if f.means, err = MeansOf(secret.Data); err == nil && f.means.Agent == nil && f.means.Kubeconfig == nil {
		err = ErrNoCredentials
	}
	return f, err
}

// version is another text for each kubeconfig. An agent that renews what it proves itself with is the same way as before.
func (f found) version() string {
	if f.means.Agent != nil {
		return string(f.secret.UID) + "/agent/" + f.means.Agent.At.UTC().Format(time.RFC3339Nano)
	}
	return string(f.secret.UID) + "/" + f.secret.ResourceVersion
}
