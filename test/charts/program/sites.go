package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kqueen.io/kqueen/internal/platform/kube"
)

const port = 8080

func newSite() *unstructured.Unstructured {
	site := &unstructured.Unstructured{}
	site.SetGroupVersionKind(schema.GroupVersionKind{Group: "charts.example", Version: "v1", Kind: "Site"})
	return site
}

func textOf(site *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(site.Object, "spec", "text")
	return text
}

func hostOf(site *unstructured.Unstructured) string {
	host, _, _ := unstructured.NestedString(site.Object, "spec", "host")
	return host
}

// sites makes of each Site a Deployment that serves its text, and the way there from outside.
type sites struct {
	client.Client

	image string
}

// Reconcile implements reconcile.Reconciler.
func (s *sites) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := newSite()
	if err := s.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if site.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	objects := s.objects(site)
	for _, o := range objects {
		if err := controllerutil.SetControllerReference(site, o, s.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := kube.Apply(ctx, s, objects, "sites"); err != nil {
		return ctrl.Result{}, err
	}
	deployment := &appsv1.Deployment{}
	if err := s.Get(ctx, request.NamespacedName, deployment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // the cache will have it
	}
	patch := fmt.Appendf(nil, `{"status":{"ready":%t}}`, deployment.Status.AvailableReplicas > 0)
	return ctrl.Result{}, s.Status().Patch(ctx, site, client.RawPatch("application/merge-patch+json", patch))
}

func (s *sites) objects(site *unstructured.Unstructured) []client.Object {
	meta := metav1.ObjectMeta{Namespace: site.GetNamespace(), Name: site.GetName()}
	labels := map[string]string{"app.kubernetes.io/managed-by": "sites", "app.kubernetes.io/instance": site.GetName()}
	page := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"index.html": textOf(site) + "\n"}}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			Containers: []corev1.Container{{
				Name: "web", Image: s.image, Command: []string{"httpd", "-f", "-p", fmt.Sprint(port), "-h", "/site"},
				VolumeMounts: []corev1.VolumeMount{{Name: "site", MountPath: "/site"}},
			}},
			Volumes: []corev1.Volume{{Name: "site", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: meta.Name}},
			}}},
		}},
	}}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(port)}},
	}}
	ingress := &networkingv1.Ingress{ObjectMeta: meta, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
		Host: hostOf(site),
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
			Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix),
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: meta.Name, Port: networkingv1.ServiceBackendPort{Name: "http"}}},
		}}}},
	}}}}
	return []client.Object{page, deployment, service, ingress}
}
