package topology

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// TestReal: a real API server has each resource where it is looked for, and says of it what is decoded.
func TestReal(t *testing.T) {
	c := controlplanetest.Client(t)
	web := map[string]string{"app": "web"}
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "topology", Name: name} }
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: web}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}}}
	deployment := &appsv1.Deployment{ObjectMeta: in("web"), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: web}, Template: template}}
	set := &appsv1.ReplicaSet{ObjectMeta: in("web-1"), Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: web}, Template: template}}
	pod := &corev1.Pod{ObjectMeta: in("web-1-a"), Spec: *template.Spec.DeepCopy()}
	pod.Labels = web
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "topology"}}, deployment, set, pod,
		&corev1.Service{ObjectMeta: in("web"), Spec: corev1.ServiceSpec{Selector: web, Ports: []corev1.ServicePort{{Port: 80}}}},
		&networkingv1.NetworkPolicy{ObjectMeta: in("all")},
		&policyv1.PodDisruptionBudget{ObjectMeta: in("web"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: web}}},
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: in("web"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 3, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		}},
		&networkingv1.Ingress{ObjectMeta: in("web"), Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "shop", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}}},
	} {
		switch o {
		case set:
			set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: deployment.UID}}
		case pod:
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: set.UID}}
		}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T: %v", o, err)
		}
	}
	reads, err := listing.New(controlplanetest.Config(t), listing.Bounds{Call: time.Minute, PageItems: 2, PageBytes: 8 << 20, Objects: 100, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer reads.Close()
	g, err := Read(t.Context(), reads, []string{"topology"}, Caps{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Missing PersistentVolumeClaim/topology/data", "Missing Service/topology/shop",
		"Deployment.apps/topology/web Owns ReplicaSet.apps/topology/web-1",
		"HorizontalPodAutoscaler.autoscaling/topology/web Scales Deployment.apps/topology/web",
		"Ingress.networking.k8s.io/topology/web RoutesTo Service/topology/shop",
		"NetworkPolicy.networking.k8s.io/topology/all Selects Pod/topology/web-1-a",
		"Pod/topology/web-1-a Uses PersistentVolumeClaim/topology/data",
		"PodDisruptionBudget.policy/topology/web Selects Pod/topology/web-1-a",
		"ReplicaSet.apps/topology/web-1 Owns Pod/topology/web-1-a",
		"Service/topology/web Selects Pod/topology/web-1-a",
	}
	if diff := cmp.Diff(want, drawn(g)); diff != "" || len(g.NotRead) > 0 || g.Truncated {
		t.Errorf("not read: %+v, -want +got:\n%s", g.NotRead, diff)
	}
}
