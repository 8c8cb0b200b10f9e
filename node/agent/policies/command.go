// Package policies enforces the NetworkPolicies of a cluster for the pods of one node, by rules of the kernel's packet filter. It follows
// pods, namespaces and policies, compiles them into a ruleset, and puts that in the place of the one before.
//
// It hides how nftables are written and which of the rules are shared. The agent's main alone imports it.
package policies

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// farewell is how long the end may take to ask the API server, which is less than a kubelet waits before it kills.
const farewell = 5 * time.Second

// bridges is the folder of the kernel's settings for packets between the pods of a node, which are on a bridge.
const bridges = "/proc/sys/net/bridge"

// Command registers its flags and returns what enforces policies until its context ends.
func Command(flags *flag.FlagSet) func(ctx context.Context, node string, client kubernetes.Interface, up func()) error {
	daemonSet := flags.String("daemonset", "", "namespace/name of the DaemonSet that this belongs to: at its end, the rules are removed if that is deleted; empty if they stay")
	return func(ctx context.Context, node string, client kubernetes.Interface, up func()) error {
		namespace, name, ok := strings.Cut(*daemonSet, "/")
		if *daemonSet != "" && (!ok || namespace == "" || name == "") {
			return fmt.Errorf("-daemonset: %q is not namespace/name", *daemonSet)
		}
		e := &enforcer{node: node, filter: Kernel{}, bridges: os.DirFS(bridges), up: up}
		if err := e.run(ctx, client); err != nil || name == "" {
			return err
		}
		return e.leave(context.WithoutCancel(ctx), client, namespace, name)
	}
}

// leave removes the rules if the addon was switched off. If only its pod is replaced they stay, so that policies hold in between.
func (e *enforcer) leave(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	found, err := client.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if !isDeleted(found, err) {
		klog.InfoS("The rules stay", "daemonset", klog.KRef(namespace, name), "err", err)
		return nil
	}
	klog.InfoS("The DaemonSet is deleted, and the rules with it", "daemonset", klog.KRef(namespace, name))
	return e.filter.Remove()
}

// isDeleted says whether the answer about the DaemonSet means that the addon was switched off. Without it the permission to ask, or
// the account itself, may be gone, too. That the API server cannot be reached says nothing.
func isDeleted(found *appsv1.DaemonSet, err error) bool {
	if err != nil {
		return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	}
	return found.DeletionTimestamp != nil
}
