package cis

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/platform/ciphers"
)

// serverItems are section 1.2.
func serverItems() []Item {
	plugins, off := "enable-admission-plugins", "disable-admission-plugins"
	return []Item{
		{
			Number: "1.2.1", Title: "requests without a name are refused", Holds: is(apiServer, "anonymous-auth", "false"), Instead: fourPaths,
			Reason: "they are taken at four paths and refused everywhere else: `/livez`, `/readyz` and `/healthz`, which say whether the API server is well, " +
				"and the ConfigMap `cluster-info`, by which `kubeadm join` finds out whom to trust",
		},
		{Number: "1.2.2", Title: "no file of static tokens", Holds: unset(apiServer, "token-auth-file")},
		{Number: "1.2.3", Title: "the admission plugin DenyServiceExternalIPs", Holds: has(apiServer, plugins, "DenyServiceExternalIPs")},
		{Number: "1.2.4", Title: "a client certificate for kubelets", Holds: set(apiServer, "kubelet-client-certificate", "kubelet-client-key")},
		{Number: "1.2.5", Title: "an authority for kubelets", Holds: set(apiServer, "kubelet-certificate-authority")},
		{Number: "1.2.6", Title: "no authorization mode AlwaysAllow", Holds: all(set(apiServer, "authorization-mode"), lacks(apiServer, "authorization-mode", "AlwaysAllow"))},
		{Number: "1.2.7", Title: "the authorization mode Node", Holds: has(apiServer, "authorization-mode", "Node")},
		{Number: "1.2.8", Title: "the authorization mode RBAC", Holds: has(apiServer, "authorization-mode", "RBAC")},
		{Number: "1.2.9", Title: "the admission plugin EventRateLimit", Holds: all(has(apiServer, plugins, "EventRateLimit"), limitsEvents)},
		{Number: "1.2.10", Title: "no admission plugin AlwaysAdmit", Holds: lacks(apiServer, plugins, "AlwaysAdmit")},
		{
			Number: "1.2.11", Title: "the admission plugin AlwaysPullImages", Holds: has(apiServer, plugins, "AlwaysPullImages"),
			Reason: "images can be on a node that no registry has, those of KQueen's own pods included, and would not start any more; a cluster is one tenant's, " +
				"so that no other one's private images are on its nodes",
		},
		{Number: "1.2.12", Title: "the admission plugin ServiceAccount", Holds: lacks(apiServer, off, "ServiceAccount")},
		{Number: "1.2.13", Title: "the admission plugin NamespaceLifecycle", Holds: lacks(apiServer, off, "NamespaceLifecycle")},
		{Number: "1.2.14", Title: "the admission plugin NodeRestriction", Holds: has(apiServer, plugins, "NodeRestriction")},
		{Number: "1.2.15", Title: "no profiling", Holds: is(apiServer, "profiling", "false")},
		{Number: "1.2.16", Title: "an audit log", Holds: set(apiServer, "audit-log-path")},
		{Number: "1.2.17", Title: "whose files are kept for 30 days", Holds: atLeast("audit-log-maxage", 30)},
		{Number: "1.2.18", Title: "of which ten are kept", Holds: atLeast("audit-log-maxbackup", 10)},
		{
			Number: "1.2.19", Title: "of 100 MB each", Holds: atLeast("audit-log-maxsize", 100), Instead: atLeast("audit-log-maxsize", 10),
			Reason: "they have 10 MiB each: a tenant can fill them, and eleven are what it takes of a disk that it shares with others",
		},
		{Number: "1.2.20", Title: "a bound on the time of requests", Holds: not(apiServer, "request-timeout", "0s")},
		{Number: "1.2.21", Title: "tokens of service accounts that are gone are refused", Holds: not(apiServer, "service-account-lookup", "false")},
		{Number: "1.2.22", Title: "a key file for service accounts", Holds: set(apiServer, "service-account-key-file")},
		{Number: "1.2.23", Title: "a client certificate for etcd", Holds: set(apiServer, "etcd-certfile", "etcd-keyfile")},
		{Number: "1.2.24", Title: "a serving certificate", Holds: set(apiServer, "tls-cert-file", "tls-private-key-file")},
		{Number: "1.2.25", Title: "an authority for clients", Holds: set(apiServer, "client-ca-file")},
		{Number: "1.2.26", Title: "an authority for etcd", Holds: set(apiServer, "etcd-cafile")},
		{Number: "1.2.27", Title: "encryption at rest", Holds: set(apiServer, "encryption-provider-config")},
		{Number: "1.2.28", Title: "by a provider that encrypts", Holds: encrypts},
		{Number: "1.2.29", Title: "strong cipher suites alone", Holds: strong},
		{Number: "1.2.30", Title: "tokens of service accounts end when they say", Holds: is(apiServer, "service-account-extend-token-expiration", "false")},
	}
}

// fourPaths wants callers without a name to be let in nowhere else.
func fourPaths(f Found) error {
	config, err := f.file(apiServer, "authentication-config")
	if err != nil {
		return err
	}
	_, after, there := strings.Cut(string(config.Data), "anonymous:")
	if !there {
		return errors.New("the authentication configuration says nothing of callers without a name")
	}
	var paths []string
	for line := range strings.Lines(after) {
		if path, is := strings.CutPrefix(strings.TrimSpace(line), "- path: "); is {
			paths = append(paths, path)
		}
	}
	want := []string{"/livez", "/readyz", "/healthz", "/api/v1/namespaces/kube-public/configmaps/cluster-info"}
	if !slices.Equal(paths, want) {
		return fmt.Errorf("callers without a name are let in at %q, want %q", paths, want)
	}
	return nil
}

// encrypts wants the first provider, by which everything is written, to encrypt.
func encrypts(f Found) error {
	config, err := f.file(apiServer, "encryption-provider-config")
	if err != nil {
		return err
	}
	first := bytes.Index(config.Data, []byte("- identity:"))
	for _, provider := range []string{"- secretbox:", "- aescbc:", "- kms:"} {
		if at := bytes.Index(config.Data, []byte(provider)); at >= 0 && (first < 0 || at < first) {
			return nil
		}
	}
	return errors.New("the first provider of the encryption configuration does not encrypt")
}

func strong(f Found) error {
	suites, _ := f.value(apiServer, "tls-cipher-suites")
	for suite := range strings.SplitSeq(suites, ",") {
		if !slices.Contains(ciphers.Names(), suite) {
			return fmt.Errorf("--tls-cipher-suites has %q", suite)
		}
	}
	return nil
}

// limitsEvents wants the plugin to have limits: it starts with none, too.
func limitsEvents(f Found) error {
	config, err := f.file(apiServer, "admission-control-config-file")
	if err != nil {
		return err
	}
	if !bytes.Contains(config.Data, []byte("type: Server")) {
		return errors.New("the configuration of admission has no limit of events")
	}
	return nil
}
