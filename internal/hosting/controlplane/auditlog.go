package controlplane

import (
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// auditLogSize is how large the file may grow before a new one is begun, in MiB.
const auditLogSize = "16"

// configureAudit has the API server write a log, where there is to be one: on KQueen's own plane that of KQueen, on others
// that of the cluster.
func (d Description) configureAudit(server *runner.Component) {
	if d.AuditLog == "" && !d.audits() {
		return
	}
	server.Args = append(server.Args, "--audit-policy-file="+runner.FileRef(fileAuditPolicy))
	server.RestartOn = append(server.RestartOn, fileAuditPolicy)
	if d.AuditLog != "" {
		server.Args = append(server.Args, "--audit-log-path="+d.AuditLog, "--audit-log-maxsize="+auditLogSize)
		server.Writes = []string{filepath.Dir(d.AuditLog)}
	} else {
		server.Args = append(server.Args, clusterAuditArgs()...)
		server.Writes = []string{AuditDir}
	}
}

// auditPolicy writes down who changed what and who read Secrets, and not what was said: bodies hold secrets. Other
// reading is not written down, nor what Kubernetes' own controllers do, nor those who are trusted to write it down themselves. Who impersonates is
// judged by who they really are.
func auditPolicy(trusted []string) auditv1.Policy {
	none := func(rule auditv1.PolicyRule) auditv1.PolicyRule {
		rule.Level = auditv1.LevelNone
		return rule
	}
	return auditv1.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules: []auditv1.PolicyRule{
			none(auditv1.PolicyRule{Users: append([]string{"system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"}, trusted...)}),
			none(auditv1.PolicyRule{UserGroups: []string{"system:serviceaccounts:kube-system"}}),
			none(auditv1.PolicyRule{NonResourceURLs: []string{"*"}}),
			// A caller who reads Secrets has the kubeconfigs of clusters.
			{Level: auditv1.LevelMetadata, Resources: []auditv1.GroupResources{{Group: "", Resources: []string{"secrets"}}}},
			none(auditv1.PolicyRule{Verbs: []string{"get", "list", "watch"}}),
			none(auditv1.PolicyRule{Resources: []auditv1.GroupResources{
				// Questions, which are asked by creating them, and what no user decides.
				{Group: "authentication.k8s.io", Resources: []string{"tokenreviews", "selfsubjectreviews"}},
				{Group: "authorization.k8s.io"},
				{Group: "", Resources: []string{"events"}}, {Group: "events.k8s.io"}, {Group: "coordination.k8s.io"},
			}}),
			{Level: auditv1.LevelMetadata},
		},
	}
}
