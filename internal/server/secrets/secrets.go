// Package secrets serves what the REST API takes in and hands out beside objects: credentials of provisioners, of stores of backups, of
// adopted clusters and of identity providers go in and do not come out; credentials and kubeconfigs for clusters, and tokens that machines join with,
// are handed out, and the audit log has each. No caller may read Secrets: KQueen reads and writes them itself, after the API
// server has said that the caller may do as much with the object that they belong to.
package secrets

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
	"kqueen.io/kqueen/internal/tenancy/issuer"
)

// Config is what the operations stand on.
type Config struct {
	// Callers makes each call as the caller that its context names, Own as KQueen.
	Callers, Own client.Client
	Rights       *rights.Rights
	Providers    identityprovider.Source
	// Issuer signs credentials for clusters, and Entries knows what they end with.
	Issuer  *issuer.Issuer
	Entries Entries
	// Adopted knows the clusters that others run.
	Adopted Adopted
	Address Address
	Now     func() time.Time
}

// Adopted knows the clusters that others run, and by what KQueen reaches them.
type Adopted interface {
	// Adopted says whether a cluster is one.
	Adopted(ctx context.Context, c *v1alpha1.Cluster) (bool, error)
	// CheckCredentials says whether the cluster takes these, and returns them as they are to be kept; nil when they cannot be.
	// Those that it refuses, or that cannot be tried because it does not answer, come with the error.
	CheckCredentials(ctx context.Context, c *v1alpha1.Cluster, values map[string][]byte) (map[string][]byte, error)
}

// Entries notes who enters a cluster, as access.Entries does.
type Entries interface {
	Enter(ctx context.Context, by access.Identity, audience string, until time.Time) error
}

// Register adds the operations to an API.
func Register(api huma.API, c Config) {
	(&credentials{c.Callers, c.Own, c.Rights, c.Now}).register(api)
	(&clusterCredentials{c.Callers, c.Own, c.Rights, c.Adopted, c.Now}).register(api)
	(&clusterAccess{c.Callers, c.Own, c.Rights, c.Issuer, c.Entries, c.Adopted, c.Address}).register(api)
	(&join{c.Callers, c.Own, c.Rights, c.Now}).register(api)
	(&clientSecrets{c.Callers, c.Rights, c.Providers, c.Now}).register(api)
	(&storeCredentials{c.Callers, c.Own, c.Rights, c.Now}).register(api)
}
