//go:build linux

package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	kqueenclient "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/issuer"
	"kqueen.io/kqueen/internal/workers/prepare"
)

// commandOf says by which command each operation of the API is given. A line is an operationId and the command; a new
// operation needs one.
func commandOf() map[string]string {
	all := map[string]string{
		"setUp": "login", "signIn": "login", "choosePassword": "login", "signOut": "logout",
		"getMe": "whoami", "changePassword": "password change",
		"startDevice": "login", "pollDevice": "login", "exchangeCode": "login", "listProviders": "login",
		"getDevice": "device approve", "answerDevice": "device approve", "setIdentityProviderSecret": "identityprovider secret",
		"listCredentials": "token list", "createToken": "token create", "revokeCredential": "token revoke",

		"listUsers": "user list", "createUser": "user create", "getUser": "user get", "updateUser": "user update", "deleteUser": "user delete",
		"resetUser": "user reset", "revokeUser": "user sign-out",

		"listServiceAccounts": "serviceaccount list", "getServiceAccount": "serviceaccount get", "createServiceAccount": "serviceaccount create",
		"updateServiceAccount": "serviceaccount update", "deleteServiceAccount": "serviceaccount delete",
		"listServiceAccountTokens": "serviceaccount token list", "createServiceAccountToken": "serviceaccount token create",
		"revokeServiceAccountToken": "serviceaccount token revoke",

		"listMembers": "member list", "setMember": "member set", "removeMember": "member remove",
		"getQuota": "quota", "listEvents": "event list", "listOperations": "operation list",
		"listAudit": "audit list", "listOrganizationAudit": "audit list", "exportAudit": "audit export", "exportOrganizationAudit": "audit export", "verifyAudit": "audit verify",
		"exportClusterAudit":  "cluster audit",
		"listInventoryImages": "inventory images", "listInventoryContainers": "inventory containers", "searchInventoryContainers": "inventory who-runs",
		"listInventoryBinaries": "inventory binaries", "listInventoryNodes": "inventory nodes", "listInventoryWorkloads": "inventory workloads",
		"listInventoryCertificates": "inventory certificates", "listInventoryFindings": "inventory findings", "listInventoryClusters": "inventory clusters",
		"getClusterTopology": "inventory topology", "getClusterUsage": "inventory usage",
		"getClusterUpgradePlan": "cluster upgrade",
		"listAddons":            "addon list", "listClusterAddons": "cluster addon list",

		"issueCredential": "cluster credential", "issueKubeconfig": "cluster kubeconfig", "breakGlass": "cluster kubeconfig",
		"summarizeClusters": "cluster summary",

		"createJoinToken": "node join-command",

		"createAgentToken":      "cluster import",
		"setClusterCredentials": "cluster import", "getClusterCredentials": "cluster describe",
		"removeClusterCredentials": "cluster delete", // with the cluster

		"getProvisionerCredentials": "provisioner credentials get", "setProvisionerCredentials": "provisioner credentials set",
		"removeProvisionerCredentials": "provisioner credentials remove",

		"getBackupStoreCredentials": "backupstore credentials get", "setBackupStoreCredentials": "backupstore credentials set",
		"removeBackupStoreCredentials": "backupstore credentials remove",
	}
	// A machine is called node on the command line.
	for kind, command := range map[string]string{
		"Organization": "organization", "Release": "release", "Provisioner": "provisioner", "Cluster": "cluster", "NodePool": "nodepool",
		"Machine": "node", "ControlPlane": "controlplane", "IdentityProvider": "identityprovider",
		"BackupStore": "backupstore", "Backup": "backup", "BackupSchedule": "backupschedule", "Restore": "restore", "Upgrade": "upgrade", "Rehearsal": "rehearsal", "Rotation": "rotation",
	} {
		all["list"+kind+"s"], all["get"+kind] = command+" list", command+" get"
		if kind != "Organization" && kind != "Release" && kind != "IdentityProvider" && kind != "BackupStore" {
			all["listAll"+kind+"s"] = command + " list"
		}
	}
	for kind, command := range map[string]string{
		"Organization": "organization", "Provisioner": "provisioner", "Cluster": "cluster", "NodePool": "nodepool",
		"IdentityProvider": "identityprovider", "BackupStore": "backupstore", "BackupSchedule": "backupschedule",
	} {
		all["create"+kind], all["update"+kind], all["delete"+kind] = command+" create", command+" update", command+" delete"
		all["replace"+kind] = command + " update" // of a file
	}
	for _, kind := range []string{"Backup", "Restore"} { // they are taken once and not changed
		command := strings.ToLower(kind)
		all["create"+kind], all["delete"+kind] = command+" create", command+" delete"
	}
	all["createRotation"], all["updateRotation"], all["replaceRotation"], all["deleteRotation"] = "cluster rotate ca", "rotation update", "rotation update", "rotation delete"
	all["createRehearsal"], all["deleteRehearsal"] = "cluster upgrade", "rehearsal delete"
	all["createUpgrade"], all["updateUpgrade"], all["replaceUpgrade"], all["deleteUpgrade"] = "cluster upgrade", "upgrade update", "upgrade update", "upgrade delete"
	all["updateMachine"], all["replaceMachine"], all["deleteMachine"] = "node update", "node update", "node replace"
	return all
}

// document are the operations of the API, each as method and path.
func document(t *testing.T) map[string]string {
	t.Helper()
	signs, err := issuer.New(issuer.Config{URL: "https://issuer.kqueen.internal", Base: "https://127.0.0.1:8443/issuer", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	plane, err := kube.Impersonate(controlplanetest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	handler, err := server.New(server.Config{
		Plane: plane, Own: controlplanetest.Client(t), Key: bytes.Repeat([]byte{9}, 32), Version: "test", Log: slog.New(slog.DiscardHandler), Now: time.Now, Issuer: signs,
		Access: &access.Service{}, Addons: &prepare.Preparer{},
	})
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for path, item := range handler.OpenAPI().Paths {
		for method, o := range map[string]*huma.Operation{
			"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete, "HEAD": item.Head, "OPTIONS": item.Options,
		} {
			if o != nil {
				documented[o.OperationID] = method + " " + path
			}
		}
	}
	return documented
}

// TestClientAndDocument wants the client to have every operation of the API, and no other, by the same method and path.
func TestClientAndDocument(t *testing.T) {
	documented := document(t)
	for _, o := range kqueenclient.Operations() {
		if got, want := o.Method+" /api/v1"+o.Path, documented[o.ID]; got != want {
			t.Errorf("%s: the client calls %q, the document says %q", o.ID, got, want)
		}
		delete(documented, o.ID)
	}
	for id, where := range documented {
		t.Errorf("%s (%s) is in the document and not in the client", id, where)
	}
}

// TestCommandsAndDocument wants a command for every operation of the API.
func TestCommandsAndDocument(t *testing.T) {
	root := newRoot(connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	known := commandOf()
	for id, where := range document(t) {
		command, ok := known[id]
		if !ok {
			t.Errorf("%s (%s) has no command: say which one gives it", id, where)
			continue
		}
		delete(known, id)
		found, rest, err := root.Find(strings.Fields(command))
		if err != nil || len(rest) > 0 || found.CommandPath() != "kqueen "+command || !found.Runnable() || found.HasSubCommands() {
			t.Errorf("%s: there is no command %q: %v", id, command, err)
		}
	}
	for id, command := range known {
		t.Errorf("%s, which %q is said to give, is not in the document", id, command)
	}
}
