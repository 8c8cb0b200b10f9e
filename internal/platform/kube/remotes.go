package kube

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remoteFresh is how long a kubeconfig is used without a look at whether it has changed.
const remoteFresh = 10 * time.Second

// Remotes keeps a client for each cluster whose kubeconfig is in a Secret or handed in. Make it with NewRemotes. It is
// safe for concurrent use.
type Remotes struct {
	secrets client.Reader
	scheme  *runtime.Scheme
	version string

	mu      sync.Mutex
	clients map[client.ObjectKey]remote
}

type remote struct {
	client.WithWatch
	version string // of the Secret
	looked  time.Time
}

// NewRemotes returns an empty collection. secrets reads the Secrets, scheme has the kinds that are asked for, and
// version is that of the calling program.
func NewRemotes(secrets client.Reader, scheme *runtime.Scheme, version string) *Remotes {
	return &Remotes{secrets: secrets, scheme: scheme, version: version, clients: map[client.ObjectKey]remote{}}
}

// Client returns a client for the cluster whose kubeconfig is under a key of a Secret. The kubeconfig must be our
// own and carry all its data inside. It makes no call to the cluster yet. A Secret that is not there is an
// error for which apierrors.IsNotFound is true.
func (r *Remotes) Client(ctx context.Context, secret client.ObjectKey, key string) (client.Client, error) {
	r.mu.Lock()
	have, ok := r.clients[secret]
	r.mu.Unlock()
	if ok && time.Since(have.looked) < remoteFresh {
		return have, nil
	}
	object := &corev1.Secret{}
	if err := r.secrets.Get(ctx, secret, object); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(secret)
		}
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	if !ok || have.version != object.ResourceVersion {
		made, err := r.connect(object.Data[key])
		if err != nil {
			return nil, fmt.Errorf("kubeconfig in Secret %s: %w", secret, err)
		}
		have = remote{WithWatch: made, version: object.ResourceVersion}
	}
	have.looked = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients[secret] = have
	return have, nil
}

// Direct returns a client for the cluster of a kubeconfig, and the same one under the same name until the kubeconfig
// is another. The kubeconfig must be our own and carry all its data inside. It makes no call to the cluster.
func (r *Remotes) Direct(name string, kubeconfig []byte) (client.Client, error) {
	key, version := direct(name), fmt.Sprintf("%x", sha256.Sum256(kubeconfig))
	r.mu.Lock()
	have, ok := r.clients[key]
	r.mu.Unlock()
	if ok && have.version == version {
		return have, nil
	}
	made, err := r.connect(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	have = remote{WithWatch: made, version: version}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients[key] = have
	return have, nil
}

// Forget drops the client that Direct keeps under a name.
func (r *Remotes) Forget(name string) { r.forget(direct(name)) }

// direct is a key that no Secret has: each of those is in a namespace.
func direct(name string) client.ObjectKey { return client.ObjectKey{Name: name} }

func (r *Remotes) connect(kubeconfig []byte) (client.WithWatch, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kqueen/" + r.version
	Background(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &deadline{next: next, limit: CallDeadline} })
	return Connect(config, r.scheme)
}

func (r *Remotes) forget(secret client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.clients, secret)
}
