package prepare

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/workers/addons"
)

// servicesAtOnce is how many Services are read by one call: a cluster may have any number.
const servicesAtOnce = 500

// forget removes what programs of addons wrote, once these are switched off.
func forget(ctx context.Context, c client.Client, chosen []addons.Chosen) error {
	var problems []error
	if !addons.GivesAddresses(chosen) {
		problems = append(problems, forgetAddresses(ctx, c))
	}
	if !addons.HasVolumes(chosen) {
		problems = append(problems, forgetCapacities(ctx, c))
	}
	if !addons.ServesIngresses(chosen) {
		problems = append(problems, forgetCertificate(ctx, c))
	}
	return errors.Join(problems...)
}

// forgetCapacities deletes what the agents of nodes said to the scheduler about their disks.
func forgetCapacities(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, kube.CallDeadline)
	defer cancel()
	err := c.DeleteAllOf(ctx, &storagev1.CSIStorageCapacity{}, client.InNamespace(metav1.NamespaceSystem), client.HasLabels{addons.LabelCapacity})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete what the addon local-volumes said of the disks of nodes: %w", err)
	}
	return nil
}

// forgetAddresses takes the addresses of Services back: no node answers for them any more.
func forgetAddresses(ctx context.Context, c client.Client) error {
	for from := ""; ; {
		services, err := servicesFrom(ctx, c, from)
		if err != nil {
			return fmt.Errorf("list Services that have addresses of the addon load-balancer: %w", err)
		}
		for i := range services.Items {
			if err := forgetAddress(ctx, c, &services.Items[i]); err != nil {
				return err
			}
		}
		if from = services.Continue; from == "" {
			return nil
		}
	}
}

func servicesFrom(ctx context.Context, c client.Client, from string) (*corev1.ServiceList, error) {
	ctx, cancel := context.WithTimeout(ctx, kube.CallDeadline)
	defer cancel()
	services := &corev1.ServiceList{}
	return services, c.List(ctx, services, client.Limit(servicesAtOnce), client.Continue(from))
}

func forgetAddress(ctx context.Context, c client.Client, s *corev1.Service) error {
	if !apimeta.RemoveStatusCondition(&s.Status.Conditions, addons.ConditionAddress) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, kube.CallDeadline)
	defer cancel()
	s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	if err := client.IgnoreNotFound(c.Status().Update(ctx, s)); err != nil {
		return fmt.Errorf("take the address of Service %s/%s back: %w", s.Namespace, s.Name, err)
	}
	return nil
}
