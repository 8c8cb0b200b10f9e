// Package kubeapi lets users call the Kubernetes API of the admin plane, so that kubectl and GitOps tools work with the token of a
// member: below [rest.KubernetesPath] of the server they see what the REST API serves, events, and their own rights, and nothing
// else of the admin plane. Each call is made as its caller, so that RBAC and admission decide what the caller may; it goes through
// the chain as all requests do; changes are in the audit log. It hides which calls there are, how documents of discovery are
// narrowed to them, and how streams are bounded.
package kubeapi
