package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/platform/kube"
)

// took says how long it took until all pods of the application ran, and until it answered through its Ingress.
type took struct {
	pods, answers time.Duration
}

// application creates the application and waits for it. address asks for that of the ingress controller, as a URL, which is empty while
// there is none.
func application(ctx context.Context, begin time.Time, config *rest.Config, image string, address func(context.Context, client.Client) (string, error)) (took, error) {
	c, err := tenantClient(config)
	if err != nil {
		return took{}, err
	}
	if err := createApplication(ctx, c, image); err != nil {
		return took{}, err
	}
	var t took
	if err := awaitPods(ctx, c); err != nil {
		return t, err
	}
	t.pods = time.Since(begin)
	url := ""
	err = await(ctx, func() (bool, error) {
		url, err = address(ctx, c)
		return url != "", err
	})
	if err == nil {
		err = awaitOK(ctx, &http.Client{Timeout: time.Second}, url)
	}
	t.answers = time.Since(begin)
	return t, err
}

func createApplication(ctx context.Context, c client.Client, image string) error {
	// Without the account no pod is let in, and the controller tries again ever more seldom.
	account := client.ObjectKey{Namespace: "default", Name: "default"}
	err := await(ctx, func() (bool, error) {
		err := c.Get(ctx, account, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	for _, o := range []client.Object{deployment(image), service(), ingress()} {
		if err := c.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func awaitPods(ctx context.Context, c client.Client) error {
	return await(ctx, func() (bool, error) {
		list := &corev1.PodList{}
		if err := c.List(ctx, list, client.InNamespace("default")); err != nil {
			return false, err
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == benchPods, nil
	})
}

// removePods takes the pods away in good order, so that nothing of them is left on the host.
func removePods(ctx context.Context, config *rest.Config, others ...client.Object) error {
	c, err := tenantClient(config)
	if err != nil {
		return err
	}
	for _, o := range append(others, deployment("")) {
		if err := c.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			return err
		}
	}
	return await(ctx, func() (bool, error) {
		list := &corev1.PodList{}
		err := c.List(ctx, list)
		return err == nil && len(list.Items) == 0, err
	})
}

func tenantClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), networkingv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return kube.Connect(config, scheme)
}

const pagePort = 8080

func labels() map[string]string { return map[string]string{"app": "bench"} }

func meta() metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: "bench"} }

func deployment(image string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: meta()}
	d.Spec.Replicas = ptr.To[int32](benchPods)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels()}
	d.Spec.Template.Labels = labels()
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "web", Image: image,
		Command: []string{"sh", "-c", fmt.Sprintf("echo hello >/tmp/index.html && exec httpd -f -p %d -h /tmp", pagePort)},
	}}
	return d
}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: meta(), Spec: corev1.ServiceSpec{
		Selector: labels(), Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(pagePort)}},
	}}
}

// ingress is for every host name.
func ingress() *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: meta(), Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
		Service: &networkingv1.IngressServiceBackend{Name: "bench", Port: networkingv1.ServiceBackendPort{Number: 80}},
	}}}
}

// addonMemory are the working sets of the pods of addons in MiB, by what their label says, once there are figures of all of them.
func addonMemory(ctx context.Context, config *rest.Config) (map[string]float64, error) {
	c, err := tenantClient(config)
	if err != nil {
		return nil, err
	}
	var sums map[string]float64
	err = await(ctx, func() (bool, error) {
		pods, metrics := &corev1.PodList{}, &unstructured.UnstructuredList{}
		metrics.SetAPIVersion("metrics.k8s.io/v1beta1")
		metrics.SetKind("PodMetricsList")
		if err := c.List(ctx, pods, client.InNamespace("kube-system")); err != nil {
			return false, err
		}
		if err := c.List(ctx, metrics, client.InNamespace("kube-system")); err != nil || len(metrics.Items) < len(pods.Items) {
			return false, nil //nolint:nilerr // metrics-server has not asked all kubelets yet
		}
		sums, err = sumMemory(metrics)
		return true, err
	})
	return sums, err
}

// sumMemory adds up what metrics-server says of containers.
func sumMemory(metrics *unstructured.UnstructuredList) (map[string]float64, error) {
	sums := map[string]float64{}
	for i := range metrics.Items {
		pod := &metrics.Items[i]
		name := pod.GetLabels()["k8s-app"]
		if name == "" {
			name = pod.GetLabels()["app"]
		}
		containers, _, err := unstructured.NestedSlice(pod.Object, "containers")
		if err != nil {
			return nil, err
		}
		for _, one := range containers {
			container, _ := one.(map[string]any)
			said, _, err := unstructured.NestedString(container, "usage", "memory")
			if err != nil {
				return nil, err
			}
			bytes, err := resource.ParseQuantity(said)
			if err != nil {
				return nil, fmt.Errorf("memory of %s: %w", pod.GetName(), err)
			}
			sums[name] += bytes.AsApproximateFloat64() / (1 << 20)
		}
	}
	return sums, nil
}

func printMiB(w io.Writer, title string, each map[string]float64) {
	fmt.Fprintln(w, "\n"+title)
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(each)) {
		fmt.Fprintf(w, "%s\t%.0f MiB\n", name, each[name])
		sum += each[name]
	}
	fmt.Fprintf(w, "together\t%.0f MiB\n", sum)
}
