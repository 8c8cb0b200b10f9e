package controlplane

import (
	"testing"

	"k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestClusterAuditPolicy has upstream judge what is written down, and how much of it.
func TestClusterAuditPolicy(t *testing.T) {
	alice := &user.DefaultInfo{Name: "kqueen:alice", Groups: []string{"kqueen:edit"}}
	kubelet := &user.DefaultInfo{Name: "system:node:a", Groups: []string{"system:nodes"}}
	controller := &user.DefaultInfo{Name: "system:serviceaccount:kube-system:deployment-controller", Groups: []string{"system:serviceaccounts:kube-system"}}
	none, metadata, bodies := audit.LevelNone, audit.LevelMetadata, audit.LevelRequestResponse
	for name, c := range map[string]struct {
		who                              user.Info
		verb, group, resource, sub, path string
		metadata, full                   audit.Level
	}{
		"a user changes":               {alice, "create", "apps", "deployments", "", "", metadata, bodies},
		"a user deletes":               {alice, "delete", "", "pods", "", "", metadata, bodies},
		"a user reads":                 {alice, "list", "", "pods", "", "", metadata, metadata},
		"a user reads Secrets":         {alice, "get", "", "secrets", "", "", metadata, metadata},
		"a user writes a Secret":       {alice, "create", "", "secrets", "", "", metadata, metadata},
		"a user writes a ConfigMap":    {alice, "update", "", "configmaps", "", "", metadata, metadata},
		"a user makes a token":         {alice, "create", "", "serviceaccounts", "token", "", metadata, metadata},
		"a token is reviewed":          {kubelet, "create", "authentication.k8s.io", "tokenreviews", "", "", metadata, metadata},
		"a user enters a pod":          {alice, "create", "", "pods", "exec", "", metadata, bodies},
		"a user asks how it is":        {alice, "get", "", "", "", "/readyz", none, none},
		"a user asks for the logs":     {alice, "get", "", "", "", "/logs/", metadata, metadata},
		"a user writes an event":       {alice, "create", "events.k8s.io", "events", "", "", none, none},
		"a kubelet says that it lives": {kubelet, "update", "coordination.k8s.io", "leases", "", "", none, none},
		"a kubelet tells of a pod":     {kubelet, "patch", "", "pods", "status", "", none, none},
		"a kubelet reads a Secret":     {kubelet, "get", "", "secrets", "", "", metadata, metadata},
		"a controller reads":           {controller, "list", "apps", "replicasets", "", "", none, none},
		"a controller changes":         {controller, "create", "", "pods", "", "", metadata, bodies},
	} {
		for level, want := range map[string]audit.Level{v1alpha1.AuditMetadata: c.metadata, v1alpha1.AuditRequestResponse: c.full} {
			text, err := yaml.Marshal(clusterAuditPolicy(level))
			if err != nil {
				t.Fatal(err)
			}
			rules, err := policy.LoadPolicyFromBytes(text)
			if err != nil {
				t.Fatal(err)
			}
			got := policy.NewPolicyRuleEvaluator(rules).EvaluatePolicyRule(authorizer.AttributesRecord{
				User: c.who, Verb: c.verb, APIGroup: c.group, Resource: c.resource, Subresource: c.sub, Path: c.path, ResourceRequest: c.path == "",
			})
			if got.Level != want {
				t.Errorf("%s, at %s: written down at %s, want %s", name, level, got.Level, want)
			}
		}
	}
}

// TestAuditOfWhom: the admin plane's log is KQueen's own, and a cluster that wants none has none.
func TestAuditOfWhom(t *testing.T) {
	for _, c := range []struct {
		own, cluster string
		want         bool
	}{
		{"", v1alpha1.AuditNone, false}, {"", "", false}, {"", v1alpha1.AuditMetadata, true}, {"", v1alpha1.AuditRequestResponse, true}, {"/audit.log", v1alpha1.AuditRequestResponse, false},
	} {
		if got := (Description{AuditLog: c.own, ClusterAudit: c.cluster}).audits(); got != c.want {
			t.Errorf("own %q, of the cluster %q: %t", c.own, c.cluster, got)
		}
	}
}
