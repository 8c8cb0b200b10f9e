package cis

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"
)

const (
	noPods = "there is no such file: the components are processes that KQueen's supervisor starts, and the files that it gives them are closed to all other users"
	nodes  = "these files are on nodes, each of which has its own"
)

// filesOfPlane are section 1.1.
func filesOfPlane() []Item {
	return []Item{
		{Number: "1.1.1", Title: "the API server's pod specification is closed to others", Reason: noPods, Instead: everyClosed("")},
		{Number: "1.1.2", Title: "and belongs to root", Reason: noPods, Instead: everyOurs("")},
		{Number: "1.1.3", Title: "the controller manager's pod specification is closed to others", Reason: noPods, Instead: everyClosed("")},
		{Number: "1.1.4", Title: "and belongs to root", Reason: noPods, Instead: everyOurs("")},
		{Number: "1.1.5", Title: "the scheduler's pod specification is closed to others", Reason: noPods, Instead: everyClosed("")},
		{Number: "1.1.6", Title: "and belongs to root", Reason: noPods, Instead: everyOurs("")},
		{Number: "1.1.7", Title: "etcd's pod specification is closed to others", Reason: noPods, Instead: everyClosed("")},
		{Number: "1.1.8", Title: "and belongs to root", Reason: noPods, Instead: everyOurs("")},
		{Number: "1.1.9", Title: "files of the network interface are closed to others", Reason: nodes},
		{Number: "1.1.10", Title: "and belong to root", Reason: nodes},
		{Number: "1.1.11", Title: "etcd's folder of data is closed to others", Holds: private(etcd, "data-dir")},
		{
			Number: "1.1.12", Title: "and belongs to etcd:etcd", Instead: ownData,
			Reason: "the folder belongs to the user as which etcd runs; KQueen creates no account named etcd on a host",
		},
		{
			Number: "1.1.13", Title: "the administrator's kubeconfig is closed to others",
			Reason: "it is on no disk of the host: a user with that right gets it by the API, and the audit log has it",
		},
		{Number: "1.1.14", Title: "and belongs to root", Reason: "as above"},
		{Number: "1.1.15", Title: "the scheduler's kubeconfig is closed to others", Holds: private(scheduler, "kubeconfig")},
		{Number: "1.1.16", Title: "and belongs to root or the user of the process", Holds: owned(scheduler, "kubeconfig")},
		{Number: "1.1.17", Title: "the controller manager's kubeconfig is closed to others", Holds: private(controllerManager, "kubeconfig")},
		{Number: "1.1.18", Title: "and belongs to root or the user of the process", Holds: owned(controllerManager, "kubeconfig")},
		{Number: "1.1.19", Title: "keys and certificates belong to root or the user of the process", Holds: all(everyOurs(".crt"), everyOurs(".key"))},
		{Number: "1.1.20", Title: "certificates can be changed by no others", Holds: everyClosed(".crt")},
		{Number: "1.1.21", Title: "keys are closed to others", Holds: everyClosed(".key")},
	}
}

// ownData wants etcd's folder to belong to the user as which etcd runs.
func ownData(f Found) error {
	folder, err := f.file(etcd, "data-dir")
	if err != nil {
		return err
	}
	if user := f.Programs[etcd].User; folder.Owner != user {
		return fmt.Errorf("etcd runs as the user %d, and its folder belongs to %d", user, folder.Owner)
	}
	return nil
}

// managerItems are sections 1.3 and 1.4.
func managerItems() []Item {
	return []Item{
		{Number: "1.3.1", Title: "a threshold for terminated pods", Holds: set(controllerManager, "terminated-pod-gc-threshold")},
		{Number: "1.3.2", Title: "no profiling", Holds: is(controllerManager, "profiling", "false")},
		{Number: "1.3.3", Title: "a service account for each controller", Holds: is(controllerManager, "use-service-account-credentials", "true")},
		{Number: "1.3.4", Title: "a key file for service accounts", Holds: set(controllerManager, "service-account-private-key-file")},
		{Number: "1.3.5", Title: "a root authority", Holds: set(controllerManager, "root-ca-file")},
		{Number: "1.3.6", Title: "kubelets' certificates are renewed", Holds: lacks(controllerManager, "feature-gates", "RotateKubeletServerCertificate=false")},
		{Number: "1.3.7", Title: "the controller manager listens on loopback", Holds: is(controllerManager, "bind-address", "127.0.0.1")},
		{Number: "1.4.1", Title: "no profiling", Holds: is(scheduler, "profiling", "false")},
		{Number: "1.4.2", Title: "the scheduler listens on loopback", Holds: is(scheduler, "bind-address", "127.0.0.1")},
	}
}

// storeItems are section 2.
func storeItems() []Item {
	return []Item{
		{Number: "2.1", Title: "etcd has a serving certificate", Holds: set(etcd, "cert-file", "key-file")},
		{Number: "2.2", Title: "etcd's clients have certificates", Holds: is(etcd, "client-cert-auth", "true")},
		{Number: "2.3", Title: "etcd issues no certificate for itself", Holds: not(etcd, "auto-tls", "true")},
		{Number: "2.4", Title: "etcd has a certificate for its members", Holds: set(etcd, "peer-cert-file", "peer-key-file")},
		{Number: "2.5", Title: "etcd's members have certificates", Holds: is(etcd, "peer-client-cert-auth", "true")},
		{Number: "2.6", Title: "etcd issues no certificate for its members", Holds: not(etcd, "peer-auto-tls", "true")},
		{Number: "2.7", Title: "etcd has an authority of its own", Holds: ownAuthority},
	}
}

// ownAuthority wants clients of etcd and of the API server to have different authorities.
func ownAuthority(f Found) error {
	store, err := f.file(etcd, "trusted-ca-file")
	if err != nil {
		return err
	}
	server, err := f.file(apiServer, "client-ca-file")
	if err != nil {
		return err
	}
	if bytes.Equal(store.Data, server.Data) {
		return errors.New("etcd trusts clients of the API server's authority")
	}
	return nil
}

// auditItems are section 3.
func auditItems() []Item {
	return []Item{
		{
			Number: "3.1.1", Title: "users have no client certificates",
			Reason: "they enter with tokens of an hour that KQueen signs; a certificate is for the administrator of a cluster alone, is given by the API, and the audit log has it",
		},
		{Number: "3.1.2", Title: "users have no tokens of service accounts", Reason: "users enter as themselves; what a cluster's own administrators hand out is theirs to decide"},
		{Number: "3.1.3", Title: "users have no bootstrap tokens", Reason: "KQueen creates one for each machine, which is valid for one join and is removed after it"},
		{Number: "3.2.1", Title: "an audit policy", Holds: set(apiServer, "audit-policy-file")},
		{Number: "3.2.2", Title: "that covers access to Secrets and changes of everything", Holds: covers},
	}
}

// covers wants the policy to have a rule for Secrets, without bodies, and one at its end for what no other rule is about.
func covers(f Found) error {
	file, err := f.file(apiServer, "audit-policy-file")
	if err != nil {
		return err
	}
	type resources struct {
		Resources []string `json:"resources"`
	}
	type rule struct {
		Level     string      `json:"level"`
		Verbs     []string    `json:"verbs"`
		Resources []resources `json:"resources"`
	}
	var policy struct {
		Rules []rule `json:"rules"`
	}
	if err := yaml.Unmarshal(file.Data, &policy); err != nil {
		return fmt.Errorf("read the audit policy: %w", err)
	}
	secrets := slices.IndexFunc(policy.Rules, func(r rule) bool {
		return slices.ContainsFunc(r.Resources, func(g resources) bool { return slices.Contains(g.Resources, "secrets") })
	})
	if secrets < 0 || policy.Rules[secrets].Level != "Metadata" {
		return errors.New("the audit policy has no rule for Secrets at the level Metadata")
	}
	if end := policy.Rules[len(policy.Rules)-1]; end.Level == "None" || len(end.Resources)+len(end.Verbs) > 0 {
		return errors.New("the audit policy leaves out what no rule is about")
	}
	return nil
}
