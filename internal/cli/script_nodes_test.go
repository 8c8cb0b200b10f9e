//go:build linux

package cli

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// The admin plane of the tests is also the cluster that nodes and pods are in: it is as good an API server
// as any. There are no kubelets, so that pods that were asked to leave stay until a script ends them.

// reachable CLUSTER gives a cluster a kubeconfig of the plane, which trusts there the issuer of credentials as a cluster
// does.
func reachable(t *testing.T, config *rest.Config) func(context.Context, client.Client, *v1alpha1.Cluster, []string) error {
	t.Helper()
	there := trusting(t, config)
	kubeconfig := planeKubeconfig(config)
	kubeconfig.Clusters["plane"] = &clientcmdapi.Cluster{
		Server: there.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: there.Certificate().Raw}),
	}
	data, err := clientcmd.Write(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, _ []string) error {
		return c.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.KubeconfigSecret()},
			Data:       map[string][]byte{v1alpha1.KubeconfigKey: data},
		})
	}
}

// trusting lets callers with a credential of KQueen into the plane.
func trusting(t *testing.T, config *rest.Config) *httptest.Server {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Authorization")
	}}
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	there := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ey") {
			http.Error(w, "no credential of KQueen", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(there.Close)
	return there
}

// poolStatus nodepool/NAME READY/THERE [MESSAGE] says how far a pool is. It is ready when as many are ready as
// are wanted.
func poolStatus(ctx context.Context, c client.Client, pool *v1alpha1.NodePool, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: pool-status nodepool/NAME READY/THERE [MESSAGE]")
	}
	if _, err := fmt.Sscanf(args[0], "%d/%d", &pool.Status.ReadyReplicas, &pool.Status.Replicas); err != nil {
		return err
	}
	message := strings.Join(args[1:], " ")
	pool.Status.UpdatedReplicas = pool.Status.Replicas
	setCondition(pool, v1alpha1.ConditionClusterReady, metav1.ConditionTrue, v1alpha1.ReasonClusterReady, "the cluster serves")
	status, scaled, ready := metav1.ConditionFalse, v1alpha1.ReasonScaling, v1alpha1.ReasonProgressing
	if pool.Status.ReadyReplicas == pool.Spec.Replicas {
		status, scaled, ready = metav1.ConditionTrue, v1alpha1.ReasonScaled, v1alpha1.ReasonReady
	}
	setCondition(pool, v1alpha1.ConditionScaled, status, scaled, message)
	setCondition(pool, v1alpha1.ConditionReady, status, ready, message)
	return c.Status().Update(ctx, pool)
}

// machineIn nodepool/NAME MACHINE [MESSAGE] makes a machine of a pool. It is ready, unless there is a message.
func machineIn(ctx context.Context, c client.Client, pool *v1alpha1.NodePool, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: machine nodepool/NAME MACHINE [MESSAGE]")
	}
	machine := &v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: pool.Namespace, Name: args[0], Labels: map[string]string{
			v1alpha1.LabelCluster: pool.Spec.ClusterName, v1alpha1.LabelNodePool: pool.Name,
		}},
		Spec: v1alpha1.MachineSpec{ClusterName: pool.Spec.ClusterName, Version: "v1.36.9", Provider: pool.Spec.Template.Provider, Drain: pool.Spec.Template.Drain},
	}
	if err := c.Create(ctx, machine); err != nil {
		return err
	}
	machine.Status.Address, machine.Status.Version, machine.Status.ProviderID = "10.9.0.2", "v1.36.9", "kqueen://"+machine.Spec.Provider+"/"+args[0]
	status, reason := metav1.ConditionTrue, v1alpha1.ReasonReady
	if len(args) > 1 {
		status, reason = metav1.ConditionFalse, v1alpha1.ReasonProgressing
	}
	setCondition(machine, v1alpha1.ConditionReady, status, reason, strings.Join(args[1:], " "))
	return c.Status().Update(ctx, machine)
}

// joined node/NAME makes the node of a machine.
func joined(ctx context.Context, c client.Client, machine *v1alpha1.Machine, _ []string) error {
	return c.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine.Name}})
}

// podOn node/NAME POD [bare] makes a pod on a node, which its owner makes anew unless it is bare.
func podOn(ctx context.Context, c client.Client, machine *v1alpha1.Machine, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: pod node/NAME POD [bare]")
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: machine.Namespace, Name: args[0], Labels: map[string]string{"app": args[0]}},
		Spec:       corev1.PodSpec{NodeName: machine.Name, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
	if len(args) == 1 {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", UID: "set", Controller: ptr.To(true)}}
	}
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return c.Status().Update(ctx, pod)
}

// endPods node/NAME waits until all pods of a node were asked to leave, and ends them.
func endPods(ctx context.Context, c client.Client, machine *v1alpha1.Machine, _ []string) error {
	pods := &corev1.PodList{}
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.List(ctx, pods, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", machine.Name)})
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp == nil {
				return false, err
			}
		}
		return true, err
	})
	for i := range pods.Items {
		if err == nil {
			err = c.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0))
		}
	}
	return err
}

// budget node/NAME POD on|off makes or removes a budget that lets no pod of that name go.
func budget(ctx context.Context, c client.Client, machine *v1alpha1.Machine, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: budget node/NAME POD on|off")
	}
	all := intstr.FromString("100%")
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: machine.Namespace, Name: args[0]},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &all, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": args[0]}},
		},
	}
	if args[1] == "off" {
		return c.Delete(ctx, pdb)
	}
	if err := c.Create(ctx, pdb); err != nil {
		return err
	}
	pdb.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: pdb.Generation, CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}
	return c.Status().Update(ctx, pdb)
}

// resized nodepool/NAME COUNT waits until a pool is to have so many nodes.
func resized(ctx context.Context, c client.Client, pool *v1alpha1.NodePool, args []string) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(pool), pool)
		return len(args) == 1 && strconv.Itoa(int(pool.Spec.Replicas)) == args[0], err
	})
}

// removed node/NAME begins to remove a machine, as its pool does.
func removed(ctx context.Context, c client.Client, machine *v1alpha1.Machine, _ []string) error {
	return c.Delete(ctx, machine)
}

// full CLUSTER makes its namespace take no more pools, but for trial.
func full(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, _ []string) error {
	name := cluster.Namespace + "-full"
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: cluster.Namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"nodepools"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "has(request.dryRun) && request.dryRun", Message: "no more pools"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	for _, object := range []client.Object{policy, binding} {
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
	// The policy holds a moment after it is made.
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		probe := kinds.NewNodePool()
		probe.Namespace, probe.Name, probe.Spec.ClusterName = cluster.Namespace, "probe", cluster.Name
		if err := c.Create(ctx, probe); err != nil {
			return true, ignoreInvalid(err)
		}
		return false, c.Delete(ctx, probe)
	})
}

func ignoreInvalid(err error) error {
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}
