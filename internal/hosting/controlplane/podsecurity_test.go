package controlplane

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestPodSecurity runs a real API server at one level after the other: what leads out of a pod is refused, but in kube-system, and
// each level counts as soon as the API server has restarted.
func TestPodSecurity(t *testing.T) {
	n := newTenant(t, *description(t).Issuer)
	n.Issuer, n.Cluster = nil, ""
	pod := func(namespace string, change func(*corev1.PodSpec)) *corev1.Pod {
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox"}}}
		change(&spec)
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "p-"}, Spec: spec}
	}
	plain := func(*corev1.PodSpec) {}
	hardened := func(s *corev1.PodSpec) {
		s.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
		s.Containers[0].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	leads := map[string]func(*corev1.PodSpec){
		"hostPath": func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		},
		"hostPID":     func(s *corev1.PodSpec) { s.HostPID = true },
		"hostNetwork": func(s *corev1.PodSpec) { s.HostNetwork = true },
		"privileged": func(s *corev1.PodSpec) {
			s.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		},
	}
	pids := map[int]string{}
	for _, tc := range []struct {
		level                  string
		leads, plain, hardened bool // are taken
	}{
		{"", true, true, true},
		{v1alpha1.PodSecurityBaseline, false, true, true},
		{v1alpha1.PodSecurityRestricted, false, false, true},
	} {
		n.PodSecurity = tc.level
		pid := n.apply(t)
		if before, ok := pids[pid]; ok {
			t.Errorf("level %q is served by the process that served level %q", tc.level, before)
		}
		pids[pid] = tc.level
		admin := n.admin(t)
		for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
			eventually(t, "the namespace "+namespace+" has an account for pods", func() bool {
				account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
				return client.IgnoreAlreadyExists(admin.Create(t.Context(), account)) == nil
			})
		}
		check := func(what, namespace string, change func(*corev1.PodSpec), taken bool) {
			err := admin.Create(t.Context(), pod(namespace, change), client.DryRunAll)
			refused := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "violates PodSecurity")
			if taken && err != nil || !taken && !refused {
				t.Errorf("level %q: a pod (%s) in %s: %v, want that it is taken: %t", tc.level, what, namespace, err, taken)
			}
		}
		for what, change := range leads {
			check(what, metav1.NamespaceDefault, change, tc.leads)
			check(what, metav1.NamespaceSystem, change, true)
		}
		check("plain", metav1.NamespaceDefault, plain, tc.plain)
		check("hardened", metav1.NamespaceDefault, hardened, tc.hardened)
	}
}
