package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// callers are all kinds of them, from those who may least. The second belongs to no organization, "red" owns another one.
func callers() []string {
	return []string{"", "nobody", "red", "viewer", "developer", "operator", "owner", "admin", local}
}

// local is the owner of the machine, on the local socket.
const local = "local"

// Who may: beside the roles of the organization, these.
const (
	everyone  = "everyone"  // also a caller who is not known
	signedIn  = "signed in" // a caller who is known
	adminOnly = "admin"
)

// route is what the matrix knows of an operation.
type route struct {
	// from is the lowest that may.
	from string
	// account says that it is about the caller's own account, which the owner of the machine does not have.
	account bool
	// fresh says that it makes what lets a caller in, so that tokens may not, and users who have just signed in may.
	fresh bool
	// mint says of what is fresh that a token which mints may do it, too.
	mint bool
	// body is what is sent; %d is another number each time.
	body string
	// query is what the address has beside its path.
	query string
	// make makes what the request needs, and returns parameters of the path beside the usual ones.
	make func(t *testing.T, h *fixture, n int) map[string]string
}

// matrixOfRest has, with the other part, every operation of the document: one that is not there fails the test.
func matrixOfRest() map[string]route {
	const merge = `{"labels":{"n":"%d"}}`
	all := map[string]route{
		"listOrganizations":  {from: signedIn},
		"getOrganization":    {from: "viewer"},
		"createOrganization": {from: adminOnly, body: `{"name":"new-%d"}`},
		"updateOrganization": {from: "owner", body: merge},
		"deleteOrganization": {from: adminOnly},
		"getQuota":           {from: "viewer"},
		"listEvents":         {from: "viewer"},
		"listOperations":     {from: "viewer"},
		"listMembers":        {from: "viewer"},
		"setMember":          {from: "owner", fresh: true, mint: true, body: `{"role":"viewer"}`},
		"removeMember":       {from: "owner"},

		"listAllProvisioners": {from: signedIn}, "listAllClusters": {from: signedIn}, "listAllNodePools": {from: signedIn}, "listAllMachines": {from: signedIn},
		"listControlPlanes": {from: "viewer"}, "getControlPlane": {from: "viewer"}, "listAllControlPlanes": {from: signedIn},

		"replaceOrganization": {from: "owner", body: `{"labels":{"n":"%d"},"spec":{"members":[{"user":"owner","role":"owner"}]}}`},
		"replaceProvisioner":  {from: "owner", body: `{"labels":{"n":"%d"},"spec":{"driver":"hosted"}}`},
		"replaceCluster":      {from: "operator", body: `{"labels":{"n":"%d"},"spec":{"version":"v1.36.3"}}`},
		"replaceNodePool":     {from: "operator", body: `{"labels":{"n":"%d"},"spec":{"clusterName":"thing"}}`},
		"replaceMachine":      {from: "operator", body: `{"labels":{"n":"%d"},"spec":{"clusterName":"thing","version":"v1.36.3","provider":"manual"}}`},

		"listReleases": {from: signedIn}, "getRelease": {from: signedIn},

		"listAddons": {from: signedIn}, "listClusterAddons": {from: "viewer"},

		"listProvisioners": {from: "viewer"}, "getProvisioner": {from: "viewer"},
		"createProvisioner": {from: "owner", body: `{"name":"new-%d","spec":{"driver":"hosted"}}`},
		"updateProvisioner": {from: "owner", body: merge},
		"deleteProvisioner": {from: "owner"},

		"getProvisionerCredentials": {from: "viewer"}, "removeProvisionerCredentials": {from: "owner"},
		"setProvisionerCredentials": {from: "owner", body: `{"token":"t%d"}`},

		"getClusterCredentials":    {from: "viewer"},
		"setClusterCredentials":    {from: "operator", body: `{"kubeconfig":"k%d"}`},
		"removeClusterCredentials": {from: "operator"},
		"createAgentToken":         {from: "operator", body: `{}`},

		"summarizeClusters": {from: signedIn},

		"listClusters":   {from: "viewer"},
		"getCluster":     {from: "viewer"},
		"createCluster":  {from: "operator", body: `{"name":"new-%d","spec":{"version":"v1.36.3"}}`},
		"updateCluster":  {from: "operator", body: merge},
		"deleteCluster":  {from: "operator"},
		"listNodePools":  {from: "viewer"},
		"getNodePool":    {from: "viewer"},
		"createNodePool": {from: "operator", body: `{"name":"new-%d","spec":{"clusterName":"thing"}}`},
		"updateNodePool": {from: "operator", body: merge},
		"deleteNodePool": {from: "operator"},
		"listMachines":   {from: "viewer"},
		"getMachine":     {from: "viewer"},
		"updateMachine":  {from: "operator", body: merge},
		"deleteMachine":  {from: "operator"},

		"issueCredential": {from: "viewer", body: `{}`},
		"issueKubeconfig": {from: "viewer", body: `{"access":"view"}`},
		"breakGlass":      {from: "owner", fresh: true},
		"createJoinToken": {from: "operator"},

		"listAudit":   {from: adminOnly},
		"exportAudit": {from: adminOnly}, "exportOrganizationAudit": {from: adminOnly},
		"verifyAudit":           {from: adminOnly},
		"listOrganizationAudit": {from: "operator"},
		"exportClusterAudit":    {from: "operator"},
	}
	maps.Copy(all, matrixOfAccounts())
	maps.Copy(all, matrixOfInventory())
	maps.Copy(all, matrixOfBackups())
	return all
}

// matrixOfBackups is the part of the matrix about backups. Where they are kept is the administrators' business.
func matrixOfBackups() map[string]route {
	return map[string]route{
		"listBackupStores": {from: adminOnly}, "getBackupStore": {from: adminOnly}, "deleteBackupStore": {from: adminOnly},
		"createBackupStore":  {from: adminOnly, body: `{"name":"new-%d","spec":{"s3":{"endpoint":"https://s3.example.com","bucket":"vault"}}}`},
		"updateBackupStore":  {from: adminOnly, body: `{"spec":{"maxBackups":7}}`},
		"replaceBackupStore": {from: adminOnly, body: `{"labels":{"n":"%d"},"spec":{"s3":{"endpoint":"https://s3.example.com","bucket":"vault"}}}`},

		"getBackupStoreCredentials": {from: adminOnly}, "removeBackupStoreCredentials": {from: adminOnly},
		"setBackupStoreCredentials": {from: adminOnly, body: `{"accessKeyID":"a%d","secretAccessKey":"s"}`},
		"listBackups":               {from: "viewer"}, "getBackup": {from: "viewer"}, "listAllBackups": {from: signedIn}, "deleteBackup": {from: "operator"},
		"createBackup":        {from: "operator", body: `{"name":"new-%d","spec":{"clusterName":"thing"}}`},
		"listBackupSchedules": {from: "viewer"}, "getBackupSchedule": {from: "viewer"}, "listAllBackupSchedules": {from: signedIn}, "deleteBackupSchedule": {from: "operator"},
		"createBackupSchedule":  {from: "operator", body: `{"name":"new-%d","spec":{"clusterName":"thing","schedule":"@daily"}}`},
		"updateBackupSchedule":  {from: "operator", body: `{"spec":{"paused":true}}`},
		"replaceBackupSchedule": {from: "operator", body: `{"labels":{"n":"%d"},"spec":{"clusterName":"thing","schedule":"@daily"}}`},

		"listRotations": {from: "viewer"}, "getRotation": {from: "viewer"}, "listAllRotations": {from: signedIn}, "deleteRotation": {from: "operator"},
		"createRotation":  {from: "operator", body: `{"name":"new-%d","spec":{"clusterName":"thing","credential":"CertificateAuthority"}}`},
		"updateRotation":  {from: "operator", body: `{"spec":{"finish":true}}`},
		"replaceRotation": {from: "operator", body: `{"labels":{"n":"%d"},"spec":{"clusterName":"thing","credential":"CertificateAuthority","finish":true}}`},
		"listRehearsals":  {from: "viewer"}, "getRehearsal": {from: "viewer"}, "listAllRehearsals": {from: signedIn}, "deleteRehearsal": {from: "operator"},
		"createRehearsal": {from: "operator", body: `{"name":"new-%d","spec":{"clusterName":"thing","version":"v1.37.2"}}`},

		"listUpgrades": {from: "viewer"}, "getUpgrade": {from: "viewer"}, "listAllUpgrades": {from: signedIn}, "deleteUpgrade": {from: "operator"},
		"createUpgrade":  {from: "operator", body: `{"name":"new-%d","spec":{"clusterName":"thing","version":"v1.37.2"}}`},
		"updateUpgrade":  {from: "operator", body: `{"spec":{"paused":true}}`},
		"replaceUpgrade": {from: "operator", body: `{"labels":{"n":"%d"},"spec":{"clusterName":"thing","version":"v1.37.2"}}`},

		"getClusterUpgradePlan": {from: "viewer", query: "version=v1.37.2"},

		"listRestores": {from: "viewer"}, "getRestore": {from: "viewer"}, "listAllRestores": {from: signedIn}, "deleteRestore": {from: "operator"},
		"createRestore": {from: "operator", body: `{"name":"new-%d","spec":{"backupName":"thing"}}`},
	}
}

// matrixOfInventory is the part of the matrix about what runs in clusters. Every caller who is known gets what they may see.
func matrixOfInventory() map[string]route {
	return map[string]route{
		"listInventoryImages": {from: signedIn}, "listInventoryContainers": {from: signedIn}, "listInventoryBinaries": {from: signedIn},
		"listInventoryNodes": {from: signedIn}, "listInventoryWorkloads": {from: signedIn}, "listInventoryCertificates": {from: signedIn},
		"listInventoryFindings": {from: signedIn}, "listInventoryClusters": {from: signedIn},
		"getClusterTopology": {from: "viewer"}, "getClusterUsage": {from: "viewer"},
		"searchInventoryContainers": {from: signedIn, body: `{"digests":["sha256:0123456789012345678901234567890123456789012345678901234567890123"]}`},
	}
}

// matrixOfAccounts is the part of the matrix about who signs in.
func matrixOfAccounts() map[string]route {
	const newToken = `{"name":"t%d","expiresAt":"2999-01-01T00:00:00Z"}`
	return map[string]route{
		"setUp":            {from: everyone, body: `{"token":"kq1_none","name":"first%d","password":"correct horse battery"}`},
		"signIn":           {from: everyone, body: `{"name":"somebody%d","password":"correct horse battery"}`},
		"choosePassword":   {from: everyone, body: `{"token":"kq1_%d","password":"correct horse battery"}`},
		"signOut":          {from: signedIn, account: true},
		"getMe":            {from: signedIn},
		"changePassword":   {from: signedIn, account: true, body: `{"old":"wrong %d","password":"correct horse battery staple"}`},
		"listCredentials":  {from: signedIn, account: true},
		"createToken":      {from: signedIn, account: true, fresh: true, mint: true, body: newToken},
		"revokeCredential": {from: signedIn, account: true},

		"listUsers":  {from: adminOnly},
		"createUser": {from: adminOnly, fresh: true, mint: true, body: `{"name":"new-%d"}`},
		"getUser":    {from: adminOnly, make: someUser},
		"updateUser": {from: adminOnly, make: someUser, body: `{"displayName":"%d"}`},
		"deleteUser": {from: adminOnly, make: someUser},
		"resetUser":  {from: adminOnly, fresh: true, make: someUser},
		"revokeUser": {from: adminOnly, make: someUser},

		"listServiceAccounts":       {from: "owner"},
		"createServiceAccount":      {from: "owner", fresh: true, mint: true, body: `{"name":"new-%d","role":"viewer"}`},
		"getServiceAccount":         {from: "owner", make: someAccount},
		"updateServiceAccount":      {from: "owner", make: someAccount, body: `{"disabled":true}`},
		"deleteServiceAccount":      {from: "owner", make: someAccount},
		"listServiceAccountTokens":  {from: "owner", make: someAccount},
		"createServiceAccountToken": {from: "owner", fresh: true, mint: true, make: someAccount, body: newToken},
		"revokeServiceAccountToken": {from: "owner", make: someAccount},
	}
}

// matrixOfSignIn is the part of the matrix that is about how users sign in.
func matrixOfSignIn() map[string]route {
	return map[string]route{
		"listIdentityProviders":     {from: adminOnly},
		"getIdentityProvider":       {from: adminOnly},
		"createIdentityProvider":    {from: adminOnly, fresh: true, body: `{"name":"new-%d","spec":{"issuer":"https://login.example.com","clientID":"kqueen"}}`},
		"updateIdentityProvider":    {from: adminOnly, fresh: true, body: `{"labels":{"n":"%d"}}`},
		"deleteIdentityProvider":    {from: adminOnly},
		"setIdentityProviderSecret": {from: adminOnly, fresh: true, body: `{"secret":"s%d"}`},
		"replaceIdentityProvider":   {from: adminOnly, fresh: true, body: `{"labels":{"n":"%d"},"spec":{"issuer":"https://login.example.com","clientID":"kqueen"}}`},
		"startDevice":               {from: everyone, body: `client_id=machine+%d`},
		"pollDevice":                {from: everyone, body: `grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=kq1_%d`},
		"exchangeCode":              {from: everyone, body: `{"code":"kq1_%d","codeVerifier":"v","redirectURI":"http://127.0.0.1:1/"}`},
		"listProviders":             {from: everyone},
		"getDevice":                 {from: signedIn, account: true, make: someDevice},
		"answerDevice":              {from: signedIn, account: true, body: `{"userCode":"BBBB-%d","approve":true}`},
	}
}

// matrix is all of it.
func matrix() map[string]route {
	all := matrixOfRest()
	maps.Copy(all, matrixOfSignIn())
	return all
}

// someUser makes a user.
func someUser(t *testing.T, h *fixture, n int) map[string]string {
	t.Helper()
	name := fmt.Sprintf("user-%d", n)
	if _, err := h.access.Users.Create(t.Context(), access.NewUser{Name: name, Password: secret}); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"user": name}
}

// someDevice makes a device that waits for its user.
func someDevice(t *testing.T, h *fixture, _ int) map[string]string {
	t.Helper()
	start, err := h.access.Devices.Start(t.Context(), access.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"userCode": start.UserCode}
}

// someAccount makes a service account of blue with a token.
func someAccount(t *testing.T, h *fixture, n int) map[string]string {
	t.Helper()
	name := fmt.Sprintf("sa-%d", n)
	if _, err := h.access.ServiceAccounts.Create(t.Context(), name, "", access.Scope{Organization: "blue", Role: "viewer"}); err != nil {
		t.Fatal(err)
	}
	issued, err := h.access.ServiceAccounts.CreateToken(t.Context(), "blue", name, access.NewToken{Name: "t", Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"serviceAccount": name, "credential": issued.ID}
}

// expected is the status for who may not, and 0 for who may.
func expected(from, who, path string) int {
	if from == everyone {
		return 0
	}
	if who == "" {
		return http.StatusUnauthorized
	}
	if from == signedIn || who == "admin" || who == local {
		return 0
	}
	if strings.Contains(path, "{organization}") && (who == "nobody" || who == "red") {
		return http.StatusNotFound
	}
	if from != adminOnly && slices.Index(callers(), who) >= slices.Index(callers(), from) {
		return 0
	}
	return http.StatusForbidden
}

// things puts one of each kind into blue, all of one name.
func things(t *testing.T, h *fixture) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: "org-blue", Name: "thing"}
	for _, o := range []client.Object{
		&v1alpha1.Provisioner{ObjectMeta: meta, Spec: v1alpha1.ProvisionerSpec{Driver: "hosted"}},
		&v1alpha1.Cluster{ObjectMeta: meta, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}},
		&v1alpha1.NodePool{ObjectMeta: meta, Spec: v1alpha1.NodePoolSpec{ClusterName: "thing"}},
		&v1alpha1.Machine{ObjectMeta: meta, Spec: v1alpha1.MachineSpec{ClusterName: "thing", Version: "v1.36.3", Provider: "manual"}},
		&v1alpha1.IdentityProvider{ObjectMeta: metav1.ObjectMeta{Name: "thing"}, Spec: v1alpha1.IdentityProviderSpec{Issuer: "https://login.example.com", ClientID: "kqueen"}},
		&v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: "thing"}, Spec: v1alpha1.BackupStoreSpec{S3: &v1alpha1.BackupStoreS3{Endpoint: "https://s3.example.com", Bucket: "vault"}}},
		&v1alpha1.Backup{ObjectMeta: meta, Spec: v1alpha1.BackupSpec{ClusterName: "thing"}},
		&v1alpha1.BackupSchedule{ObjectMeta: meta, Spec: v1alpha1.BackupScheduleSpec{ClusterName: "thing", Schedule: "@daily"}},
		&v1alpha1.Restore{ObjectMeta: meta, Spec: v1alpha1.RestoreSpec{BackupName: "thing"}},
		&v1alpha1.Rotation{ObjectMeta: meta, Spec: v1alpha1.RotationSpec{ClusterName: "thing", Credential: v1alpha1.CredentialCertificateAuthority}},
		&v1alpha1.Rehearsal{ObjectMeta: meta, Spec: v1alpha1.RehearsalSpec{ClusterName: "thing", Version: "v1.37.2"}},
		&v1alpha1.Upgrade{ObjectMeta: meta, Spec: v1alpha1.UpgradeSpec{ClusterName: "thing", Version: "v1.37.2"}},
		&v1alpha1.ControlPlane{ObjectMeta: meta, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.3"}},
	} {
		if err := h.plane.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.plane.Delete(context.WithoutCancel(t.Context()), o) })
	}
}

// TestMatrix asks every operation of the document as every caller.
func TestMatrix(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	known, n := matrix(), 0
	for path, item := range h.api.OpenAPI().Paths {
		for _, o := range chain.OperationsOf(item) {
			r, ok := known[o.OperationID]
			if !ok {
				t.Errorf("%s %s (%s) is not in the matrix: say who may", o.Method, path, o.OperationID)
				continue
			}
			delete(known, o.OperationID)
			t.Run(o.OperationID, func(t *testing.T) {
				for _, who := range callers() {
					n++
					h.ask(t, r, o.Method, path, who, n)
				}
			})
		}
	}
	for id := range known {
		t.Errorf("%s is in the matrix and not in the document", id)
	}
}

// request is where an operation is asked for and with what; n makes it another one each time.
func (h *fixture) request(t *testing.T, r route, method, path string, n int) (at, body string, headers []string) {
	t.Helper()
	values := map[string]string{"organization": "blue", "release": "v1.36.3", "credential": "kqx", "member": "user:some%2Fbody"}
	for _, k := range rest.Kinds() {
		if values[k.Parameter()] == "" {
			values[k.Parameter()] = "thing"
		}
	}
	if r.make != nil {
		maps.Copy(values, r.make(t, h, n))
	}
	at = path
	for name, value := range values {
		at = strings.ReplaceAll(at, "{"+name+"}", value)
	}
	if r.query != "" {
		at += "?" + r.query
	}
	headers = []string{"If-Match", "*"}
	operation := h.api.OpenAPI().Paths[path]
	if strings.HasPrefix(method, "P") || method == "DELETE" {
		if slices.ContainsFunc(chain.OperationsOf(operation), func(o *huma.Operation) bool { return o.Method == method && takesDryRun(o) }) {
			at += "?dryRun=true"
		}
	}
	body = r.body
	if strings.Contains(body, "%d") {
		body = fmt.Sprintf(body, n)
	}
	if method == "PATCH" {
		headers = append(headers, "Content-Type", "application/merge-patch+json")
	}
	if body != "" && body[0] != '{' {
		headers = append(headers, "Content-Type", "application/x-www-form-urlencoded")
	}
	if strings.HasSuffix(path, "/me/tokens") || strings.HasSuffix(path, "/tokens") {
		body = strings.ReplaceAll(body, "2999-01-01T00:00:00Z", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
	return at, body, headers
}

// ask asks one operation as one caller and compares.
func (h *fixture) ask(t *testing.T, r route, method, path, who string, n int) {
	t.Helper()
	at, body, headers := h.request(t, r, method, path, n)
	if strings.HasSuffix(path, "/signout") && h.tokens[who] != "" { // a session of its own
		issued, err := h.access.Passwords.SignIn(t.Context(), who, secret, access.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		old := h.tokens[who]
		h.tokens[who] = issued.Token.Reveal()
		defer func() { h.tokens[who] = old }()
	}
	a := h.do(t.Context(), t, who, method, at, body, headers...)
	want := expected(r.from, who, path)
	if r.account && who == local {
		want = http.StatusForbidden
	}
	if a.status >= http.StatusInternalServerError {
		t.Errorf("%s %s as %q: %d %s", method, at, who, a.status, a.body)
	}
	switch {
	case want != 0 && a.status != want:
		t.Errorf("%s %s as %q: %d, want %d: %s", method, at, who, a.status, want, a.body)
	case want == 0 && !mayBe(a, r.from):
		t.Errorf("%s %s as %q, who may: %d %s", method, at, who, a.status, a.body)
	case want == http.StatusNotFound && a.problem(t).Detail != problem.NotFound().Detail:
		t.Errorf("%s %s as %q: the answer tells more than that there is nothing: %s", method, at, who, a.body)
	}
}

// takesDryRun says whether an operation can be tried without doing anything.
func takesDryRun(o *huma.Operation) bool {
	return slices.ContainsFunc(o.Parameters, func(p *huma.Param) bool { return p.Name == "dryRun" })
}

// mayBe says whether an answer is one to a caller who may. What takes a secret in the body answers 401 to a wrong one.
func mayBe(a answer, from string) bool {
	switch a.status {
	case http.StatusUnauthorized:
		return from == everyone || strings.Contains(string(a.body), "signed in")
	case http.StatusForbidden:
		return false
	case http.StatusNotFound:
		return strings.Contains(string(a.body), `"detail":"`+access.ErrNotFound.Error()+`"`)
	}
	if strings.Contains(string(a.body), `"error":"`+rest.OAuthInvalidGrant+`"`) {
		return from == everyone
	}
	return a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity && a.status != http.StatusPreconditionRequired
}

// TestMatrixOfWatches asks every list to go on.
func TestMatrixOfWatches(t *testing.T) {
	h := newFixture(t)
	for _, k := range rest.Kinds() {
		path := rest.Prefix + k.Route(rest.VerbList).Path
		r := matrix()["list"+k.PluralName()]
		for _, who := range callers() {
			ctx, cancel := context.WithCancel(t.Context())
			want := expected(r.from, who, path)
			if k.Name == "Organization" && who != "admin" && who != local && who != "" {
				want = http.StatusForbidden // a watch would show others'
			}
			status := h.begin(ctx, t, who, strings.ReplaceAll(path, "{organization}", "blue")+"?watch=true")
			cancel()
			if want == 0 {
				want = http.StatusOK
			}
			if status != want {
				t.Errorf("watch %s as %q: %d, want %d", path, who, status, want)
			}
		}
	}
}

// TestMatrixOfWatchesEverywhere asks every list over all organizations to go on.
func TestMatrixOfWatchesEverywhere(t *testing.T) {
	h := newFixture(t)
	for _, k := range rest.Kinds() {
		if !k.InOrganization() {
			continue
		}
		for _, who := range callers() {
			want := http.StatusOK
			if who == "" {
				want = http.StatusUnauthorized
			}
			ctx, cancel := context.WithCancel(t.Context())
			if status := h.begin(ctx, t, who, rest.Prefix+"/"+k.Plural+"?watch=true"); status != want {
				t.Errorf("watch all %s as %q: %d, want %d", k.Plural, who, status, want)
			}
			cancel()
		}
	}
}

// begin returns the status with which a stream begins.
func (h *fixture) begin(ctx context.Context, t *testing.T, who, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.urlOf(who)+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token := h.tokens[who]; token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := h.clientOf(who).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
