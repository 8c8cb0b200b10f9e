package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kqueen.io/kqueen/api/rest"
)

// Operation is one operation of the API, as its document has it.
type Operation struct {
	// ID is the operationId.
	ID     string
	Method string
	// Path is a template below [rest.Prefix]: "/users/{user}".
	Path string
}

// operations are those that this client has, by their operationId. Methods call them by it. Those of objects are in the
// table of kinds, and those of accounts in a table of their own.
var operations = map[string]Operation{
	"setUp":                        {Method: http.MethodPost, Path: "/setup"},
	"signIn":                       {Method: http.MethodPost, Path: "/signin"},
	"choosePassword":               {Method: http.MethodPost, Path: "/password"},
	"startDevice":                  {Method: http.MethodPost, Path: "/device"},
	"pollDevice":                   {Method: http.MethodPost, Path: "/device/token"},
	"getDevice":                    {Method: http.MethodGet, Path: "/device/{userCode}"},
	"answerDevice":                 {Method: http.MethodPost, Path: "/device/answer"},
	"exchangeCode":                 {Method: http.MethodPost, Path: "/code"},
	"listProviders":                {Method: http.MethodGet, Path: "/providers"},
	"signOut":                      {Method: http.MethodPost, Path: "/signout"},
	"getMe":                        {Method: http.MethodGet, Path: "/me"},
	"changePassword":               {Method: http.MethodPost, Path: "/me/password"},
	"listCredentials":              {Method: http.MethodGet, Path: "/me/credentials"},
	"createToken":                  {Method: http.MethodPost, Path: "/me/tokens"},
	"revokeCredential":             {Method: http.MethodDelete, Path: "/me/credentials/{credential}"},
	"listUsers":                    {Method: http.MethodGet, Path: "/users"},
	"createUser":                   {Method: http.MethodPost, Path: "/users"},
	"updateUser":                   {Method: http.MethodPatch, Path: "/users/{user}"},
	"deleteUser":                   {Method: http.MethodDelete, Path: "/users/{user}"},
	"resetUser":                    {Method: http.MethodPost, Path: "/users/{user}/reset"},
	"issueCredential":              {Method: http.MethodPost, Path: "/organizations/{organization}/clusters/{cluster}/credential"},
	"issueKubeconfig":              {Method: http.MethodPost, Path: "/organizations/{organization}/clusters/{cluster}/kubeconfig"},
	"breakGlass":                   {Method: http.MethodPost, Path: "/organizations/{organization}/clusters/{cluster}/breakglass"},
	"createJoinToken":              {Method: http.MethodPost, Path: "/organizations/{organization}/machines/{machine}/join"},
	"summarizeClusters":            {Method: http.MethodGet, Path: "/summaries/clusters"},
	"getQuota":                     {Method: http.MethodGet, Path: "/organizations/{organization}/quota"},
	"listMembers":                  {Method: http.MethodGet, Path: "/organizations/{organization}/members"},
	"setMember":                    {Method: http.MethodPut, Path: "/organizations/{organization}/members/{member}"},
	"removeMember":                 {Method: http.MethodDelete, Path: "/organizations/{organization}/members/{member}"},
	"listOperations":               {Method: http.MethodGet, Path: "/organizations/{organization}/operations"},
	"listEvents":                   {Method: http.MethodGet, Path: "/organizations/{organization}/events"},
	"listAddons":                   {Method: http.MethodGet, Path: "/addons"},
	"listClusterAddons":            {Method: http.MethodGet, Path: "/organizations/{organization}/clusters/{cluster}/addons"},
	"listAudit":                    {Method: http.MethodGet, Path: "/audit"},
	"listOrganizationAudit":        {Method: http.MethodGet, Path: "/organizations/{organization}/audit"},
	"exportAudit":                  {Method: http.MethodGet, Path: "/audit/export"},
	"exportOrganizationAudit":      {Method: http.MethodGet, Path: "/organizations/{organization}/audit/export"},
	"exportClusterAudit":           {Method: http.MethodGet, Path: "/organizations/{organization}/clusters/{cluster}/audit"},
	"listInventoryImages":          {Method: http.MethodGet, Path: "/inventory/images"},
	"listInventoryContainers":      {Method: http.MethodGet, Path: "/inventory/containers"},
	"searchInventoryContainers":    {Method: http.MethodPost, Path: "/inventory/containers/search"},
	"listInventoryBinaries":        {Method: http.MethodGet, Path: "/inventory/binaries"},
	"listInventoryNodes":           {Method: http.MethodGet, Path: "/inventory/nodes"},
	"listInventoryWorkloads":       {Method: http.MethodGet, Path: "/inventory/workloads"},
	"listInventoryCertificates":    {Method: http.MethodGet, Path: "/inventory/certificates"},
	"listInventoryFindings":        {Method: http.MethodGet, Path: "/inventory/findings"},
	"listInventoryClusters":        {Method: http.MethodGet, Path: "/inventory/clusters"},
	"getClusterTopology":           {Method: http.MethodGet, Path: "/organizations/{organization}/clusters/{cluster}/topology"},
	"getClusterUpgradePlan":        {Method: http.MethodGet, Path: "/organizations/{organization}/clusters/{cluster}/upgrade-plan"},
	"getClusterUsage":              {Method: http.MethodGet, Path: "/organizations/{organization}/clusters/{cluster}/usage"},
	"verifyAudit":                  {Method: http.MethodPost, Path: "/audit/verification"},
	"setIdentityProviderSecret":    {Method: http.MethodPut, Path: "/identityproviders/{identityProvider}/secret"},
	"getBackupStoreCredentials":    {Method: http.MethodGet, Path: "/backupstores/{backupStore}/credentials"},
	"setBackupStoreCredentials":    {Method: http.MethodPut, Path: "/backupstores/{backupStore}/credentials"},
	"removeBackupStoreCredentials": {Method: http.MethodDelete, Path: "/backupstores/{backupStore}/credentials"},
	"getProvisionerCredentials":    {Method: http.MethodGet, Path: "/organizations/{organization}/provisioners/{provisioner}/credentials"},
	"setProvisionerCredentials":    {Method: http.MethodPut, Path: "/organizations/{organization}/provisioners/{provisioner}/credentials"},
	"getClusterCredentials":        {Method: http.MethodGet, Path: "/organizations/{organization}/clusters/{cluster}/credentials"},
	"createAgentToken":             {Method: http.MethodPost, Path: "/organizations/{organization}/clusters/{cluster}/agent"},
	"setClusterCredentials":        {Method: http.MethodPut, Path: "/organizations/{organization}/clusters/{cluster}/credentials"},
	"removeClusterCredentials":     {Method: http.MethodDelete, Path: "/organizations/{organization}/clusters/{cluster}/credentials"},
	"removeProvisionerCredentials": {Method: http.MethodDelete, Path: "/organizations/{organization}/provisioners/{provisioner}/credentials"},
}

// Operations returns what this client can call, ordered by ID, so that it can be compared with the API's document.
func Operations() []Operation {
	var all []Operation
	for _, table := range []map[string]Operation{operations, accountOperations} {
		for id, o := range table {
			o.ID = id
			all = append(all, o)
		}
	}
	for _, k := range rest.Kinds() {
		for _, verb := range k.AllVerbs() {
			all = append(all, Operation(k.Route(verb)))
		}
	}
	slices.SortFunc(all, func(a, b Operation) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// call makes the call of an operation. args fill in its path, in order.
func (c *Client) call(ctx context.Context, id string, query url.Values, body, out any, args ...string) error {
	o, ok := operations[id]
	if !ok {
		o = accountOperations[id]
	}
	path, err := fill(o.Path, args)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	return c.Call(ctx, Request{Method: o.Method, Path: rest.Prefix + path, Query: query, Body: body}, out)
}

// fill puts names in the place of a path's parameters. A name that would lead to another path is refused: "." and ".."
// cannot be escaped.
func fill(path string, args []string) (string, error) {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if strings.HasPrefix(part, "{") {
			name := strings.Trim(part, "{}")
			if len(args) == 0 || args[0] == "" || args[0] == "." || args[0] == ".." {
				return "", fmt.Errorf("%s: must be a name", name)
			}
			part, args = url.PathEscape(args[0]), args[1:]
		}
		b.WriteString("/" + part)
	}
	return b.String(), nil
}

// called makes the call of an operation that answers with a T.
func called[T any](ctx context.Context, c *Client, id string, query url.Values, body any, args ...string) (*T, error) {
	out := new(T)
	if err := c.call(ctx, id, query, body, out, args...); err != nil {
		return nil, err
	}
	return out, nil
}

// Paging says which page of a list. The zero value is the first one, in the server's size.
type Paging struct {
	// Limit is how many at most; zero leaves it to the server.
	Limit int
	// Cursor is that of the page before.
	Cursor string
}

func (p Paging) query() url.Values {
	query := url.Values{}
	if p.Limit > 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Cursor != "" {
		query.Set("cursor", p.Cursor)
	}
	return query
}

// IssueCredential returns a credential for a cluster that soon expires (operation issueCredential).
func (c *Client) IssueCredential(ctx context.Context, organization, cluster string, in rest.CredentialRequest) (*rest.ClusterCredential, error) {
	return called[rest.ClusterCredential](ctx, c, "issueCredential", nil, in, organization, cluster)
}

// IssueKubeconfig returns a kubeconfig without a secret (operation issueKubeconfig).
func (c *Client) IssueKubeconfig(ctx context.Context, organization, cluster string, in rest.KubeconfigRequest) (*rest.Kubeconfig, error) {
	return called[rest.Kubeconfig](ctx, c, "issueKubeconfig", nil, in, organization, cluster)
}

// BreakGlass returns the kubeconfig of a cluster's own administrator, which is a secret (operation breakGlass).
func (c *Client) BreakGlass(ctx context.Context, organization, cluster string) (*rest.Kubeconfig, error) {
	return called[rest.Kubeconfig](ctx, c, "breakGlass", nil, nil, organization, cluster)
}

// CreateJoinToken returns what a machine joins its cluster with, which is a secret (operation createJoinToken).
func (c *Client) CreateJoinToken(ctx context.Context, organization, machine string) (*rest.JoinToken, error) {
	return called[rest.JoinToken](ctx, c, "createJoinToken", nil, nil, organization, machine)
}

// ListAddons returns the addons that clusters can have (operation listAddons).
func (c *Client) ListAddons(ctx context.Context) (*rest.Page[rest.Addon], error) {
	return called[rest.Page[rest.Addon]](ctx, c, "listAddons", nil, nil)
}

// ListClusterAddons returns how each addon is set in a cluster, and how it is (operation listClusterAddons).
func (c *Client) ListClusterAddons(ctx context.Context, organization, cluster string) (*rest.Page[rest.ClusterAddon], error) {
	return called[rest.Page[rest.ClusterAddon]](ctx, c, "listClusterAddons", nil, nil, organization, cluster)
}

// GetQuota returns what an organization may have and what it has (operation getQuota).
func (c *Client) GetQuota(ctx context.Context, organization string) (*rest.Quota, error) {
	return called[rest.Quota](ctx, c, "getQuota", nil, nil, organization)
}
