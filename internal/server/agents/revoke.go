package agents

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/tunnel"
)

// Watched says which Secrets Revoke has the manager's cache follow: of no others is anything kept, and of these their metadata alone.
func Watched() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelAgent: "true"})}}
}

// Revoke ends the connections of agents that may not speak for their cluster any more, as soon as the admin plane says so. Call it before
// the manager starts: what connects once the cache is filled is followed then. A controller would begin later, and miss what was revoked
// before.
func Revoke(ctx context.Context, mgr ctrl.Manager, sessions *tunnel.Sessions) error {
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	informer, err := mgr.GetCache().GetInformer(ctx, secrets, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("follow the Secrets of agents: %w", err)
	}
	queue := workqueue.NewTyped[string]()
	add := func(o any) {
		key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(o)
		_, name, _ := strings.Cut(key, "/")
		if uid, ok := strings.CutPrefix(name, credentialsPrefix); ok && err == nil {
			queue.Add(uid)
		}
	}
	handlers := toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, now any) { add(now) }, DeleteFunc: add}
	if _, err := informer.AddEventHandler(handlers); err != nil {
		return fmt.Errorf("follow the Secrets of agents: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		defer context.AfterFunc(ctx, queue.ShutDown)()
		for {
			uid, ended := queue.Get()
			if ended {
				return nil
			}
			sessions.Recheck(ctx, uid)
			queue.Done(uid)
		}
	}))
}

// credentialsPrefix begins the names of Secrets with the credentials of clusters; their UID follows.
var credentialsPrefix = (&v1alpha1.Cluster{}).CredentialsSecret()
