package controlplane

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// The log that an API server writes for the users of its cluster, in the directory in which it runs.
const (
	// AuditDir is the folder, and AuditFile the file that is written now. Older ones are beside it, compressed.
	AuditDir  = "audit"
	AuditFile = "audit.log"
)

// audits says whether the API server writes a log for the users of its cluster.
func (d Description) audits() bool {
	return d.AuditLog == "" && (d.ClusterAudit == v1alpha1.AuditMetadata || d.ClusterAudit == v1alpha1.AuditRequestResponse)
}

// clusterAuditArgs bound the log: eleven files of 10 MiB, of which ten are compressed, and 30 days. A caller can fill it, and
// no more than that.
func clusterAuditArgs() []string {
	return []string{
		"--audit-log-path=" + AuditDir + "/" + AuditFile,
		"--audit-log-maxsize=10", "--audit-log-maxbackup=10", "--audit-log-maxage=30", "--audit-log-compress=true",
	}
}

// clusterAuditPolicy writes down what users and programs of the cluster do, and what the cluster does by itself only where it
// changes something that is theirs. Bodies that may hold secrets are written at no level.
func clusterAuditPolicy(level string) auditv1.Policy {
	changes := auditv1.LevelMetadata
	if level == v1alpha1.AuditRequestResponse {
		changes = auditv1.LevelRequestResponse
	}
	reading := []string{"get", "list", "watch"}
	components := []string{"system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy"}
	groups := func(group string, resources ...string) []auditv1.GroupResources {
		return []auditv1.GroupResources{{Group: group, Resources: resources}}
	}
	return auditv1.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules: []auditv1.PolicyRule{
			// What goes on all the time and says nothing of users.
			{Level: auditv1.LevelNone, NonResourceURLs: []string{"/healthz*", "/livez*", "/readyz*", "/version", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"}},
			{Level: auditv1.LevelNone, Resources: append(groups("", "events"), append(groups("events.k8s.io"), groups("coordination.k8s.io")...)...)},
			{Level: auditv1.LevelNone, Users: components, Verbs: reading},
			{Level: auditv1.LevelMetadata, UserGroups: []string{"system:nodes"}, Verbs: []string{"get", "list"}, Resources: groups("", "secrets")},
			{Level: auditv1.LevelNone, UserGroups: []string{"system:nodes", "system:serviceaccounts:kube-system"}, Verbs: reading},
			{Level: auditv1.LevelNone, UserGroups: []string{"system:nodes"}, Resources: groups("", "nodes/status", "pods/status")},
			{Level: auditv1.LevelNone, Users: components, Resources: groups("authorization.k8s.io")},
			// Bodies with secrets.
			{Level: auditv1.LevelMetadata, Resources: append(groups("", "secrets", "configmaps", "serviceaccounts/token"),
				append(groups("authentication.k8s.io"), groups("certificates.k8s.io")...)...)},
			{Level: auditv1.LevelMetadata, Verbs: reading},
			{Level: changes},
		},
	}
}
