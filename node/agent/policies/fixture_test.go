package policies

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// The cluster of these tests: x/a and x/b are on this node, y/c is on another one.
const (
	thisNode   = "node-1"
	aIP, aIPv6 = "10.244.1.2", "fd00:1::2"
	bIP, bIPv6 = "10.244.1.3", "fd00:1::3"
	cIP, cIPv6 = "10.244.2.2", "fd00:2::2"
)

func testPods() []*corev1.Pod {
	return []*corev1.Pod{
		testPod("x", "a", thisNode, []corev1.ContainerPort{{Name: "http", ContainerPort: 80, Protocol: "TCP"}, {Name: "dns", ContainerPort: 53, Protocol: "UDP"}}, aIP, aIPv6),
		testPod("x", "b", thisNode, []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}}, bIP, bIPv6),
		testPod("y", "c", "node-2", []corev1.ContainerPort{{Name: "http", ContainerPort: 80, Protocol: "TCP"}}, cIP, cIPv6),
	}
}

func testPod(namespace, name, node string, ports []corev1.ContainerPort, addresses ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}}
	p.Spec.NodeName, p.Spec.Containers, p.Status.Phase = node, []corev1.Container{{Ports: ports}}, corev1.PodRunning
	for _, a := range addresses {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a})
	}
	return p
}

func testNamespaces() []*corev1.Namespace {
	var out []*corev1.Namespace
	for _, name := range []string{"x", "y"} {
		out = append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/metadata.name": name}}})
	}
	return out
}

// testPolicies are those of namespace x with these specs, in YAML.
func testPolicies(t testing.TB, specs ...string) []*networkingv1.NetworkPolicy {
	t.Helper()
	var out []*networkingv1.NetworkPolicy
	for i, spec := range specs {
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: string(rune('a' + i))}}
		if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
			t.Fatalf("policy %d: %v", i, err)
		}
		out = append(out, p)
	}
	return out
}

func compiled(t testing.TB, specs ...string) Ruleset {
	t.Helper()
	return Compile(thisNode, testPods(), testNamespaces(), testPolicies(t, specs...))
}

func labelsOf(p *corev1.Pod) labels.Set { return p.Labels }

func mustAddress(t testing.TB, text string) netip.Addr {
	t.Helper()
	a, ok := addressOf(text)
	if !ok {
		t.Fatalf("%q is no address", text)
	}
	return a
}
