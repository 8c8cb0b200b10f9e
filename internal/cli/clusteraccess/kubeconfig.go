package clusteraccess

import (
	"context"
	"fmt"
	"net/http"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/platform/kube"
)

// ExplainKubeconfig says why a cluster gave no kubeconfig: that there is no such cluster, or what it waits for.
func ExplainKubeconfig(ctx context.Context, e *connection.Env, name string, refused error) error {
	act := fmt.Errorf("get the kubeconfig of cluster %s of organization %s: %w", name, e.Organization(), refused)
	status := exit.ProblemStatus(refused)
	if status != http.StatusConflict && status != http.StatusNotFound {
		return act
	}
	c, err := e.Connect()
	if err != nil {
		return act
	}
	cluster, err := kinds.FindAs[*v1alpha1.Cluster](ctx, e, c, kinds.Cluster, name)
	if err != nil {
		return err
	}
	if status != http.StatusConflict || kinds.Adopted(cluster) {
		return act
	}
	return exit.Fail(exit.Failed, "cluster %s has no kubeconfig yet: %s\nwait for it with: %s", name, missingCondition(cluster), e.Command("cluster wait "+name))
}

// missingCondition says which condition a cluster's kubeconfig waits for, and why.
func missingCondition(cluster *v1alpha1.Cluster) string {
	for _, name := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionProvisioned, v1alpha1.ConditionKubeconfigReady} {
		found := kinds.Condition(cluster, name)
		if found == nil {
			return "its condition " + name + " is not known yet"
		}
		if found.Status != metav1.ConditionTrue {
			return fmt.Sprintf("its condition %s is %s: %s", name, found.Status, console.CleanLine(found.Message))
		}
	}
	return "its Secret " + cluster.KubeconfigSecret() + " is missing"
}

// CheckHarmless refuses a kubeconfig that starts programs or reads files: it was written elsewhere, and on
// this machine it would do so every time its context is used.
func CheckHarmless(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) error {
	if user.Exec != nil || user.AuthProvider != nil {
		return fmt.Errorf("it starts a program to log in; print it, read it, and put it in place yourself")
	}
	for _, path := range []string{cluster.CertificateAuthority, user.ClientCertificate, user.ClientKey, user.TokenFile} {
		if path != "" {
			return fmt.Errorf("it reads the file %q; print it, read it, and put it in place yourself", path)
		}
	}
	return nil
}

// Enter returns a kubeconfig with which this command itself enters a cluster as the user who gave it. It holds a
// credential that soon expires, for the highest access that the user may have.
func Enter(ctx context.Context, e *connection.Env, cluster string) ([]byte, error) {
	d, err := e.API()
	if err != nil {
		return nil, err
	}
	made, err := d.IssueKubeconfig(ctx, e.Organization(), cluster, rest.KubeconfigRequest{})
	if err != nil {
		return nil, ExplainKubeconfig(ctx, e, cluster, err)
	}
	config, err := clientcmd.Load([]byte(made.Kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", cluster, err)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: it does not say where the cluster is", cluster)
	}
	got, err := Credential(ctx, e, d, cluster, &Wanted{UID: made.UID})
	if err != nil {
		return nil, err
	}
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{current.AuthInfo: {Token: got.Token}}
	return clientcmd.Write(*config)
}

// Connect returns a client of a cluster. Its kubeconfig may come from elsewhere, so that one that starts
// programs or reads files is refused. No watch is made with the client: each call has a deadline.
func Connect(data []byte) (client.Client, error) {
	theirs, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("read its kubeconfig: %w", err)
	}
	for _, cluster := range theirs.Clusters {
		for _, user := range theirs.AuthInfos {
			if err := CheckHarmless(cluster, user); err != nil {
				return nil, fmt.Errorf("its kubeconfig cannot be used: %w", err)
			}
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*theirs, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read its kubeconfig: %w", err)
	}
	config.UserAgent, config.Timeout = "kqueen/"+program.Version(), kube.CallDeadline
	scheme, err := connection.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := policyv1.AddToScheme(scheme); err != nil { // draining writes evictions
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	return kube.Connect(config, scheme)
}
