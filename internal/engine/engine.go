// Package engine is the face behind which KQueen's own admin plane comes: the Kubernetes API server that keeps what
// users want. An engine brings an admin plane of its own (package standalone) or uses a cluster that exists; above this
// face no package knows which. The package also installs what every admin plane holds: KQueen's kinds and first objects.
//
// Package app drives an engine, and the command line chooses one.
package engine

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/admission"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Engine provides the admin plane.
type Engine interface {
	// Up starts the admin plane, or finds it running, and blocks until its API server is healthy. The caller may call it
	// again after a crash at any instruction.
	Up(ctx context.Context, h Host) (*Plane, error)
	// Keep renews what ages in the admin plane that Up has started, and blocks until ctx ends. renewed is called each time
	// after that, with the plane as it is then: Config goes on to be good, Store may have other keys.
	Keep(ctx context.Context, renewed func(context.Context, *Plane) error) error
	// Workloads are those that Up gives to the host's supervisor, in the order in which they are to be stopped. No
	// ControlPlane and no Machine has such a UID. An engine that runs nothing on this host has none.
	Workloads() []Workload
}

// Workload is one that the engine runs on this host.
type Workload struct {
	ID string
	// Title names it in the steps of stopping, such as "the data store (etcd)".
	Title string
}

// Owns says whether a workload of the host's supervisor is the engine's own.
func Owns(e Engine, id string) bool {
	return slices.ContainsFunc(e.Workloads(), func(w Workload) bool { return w.ID == id })
}

// Host is what an engine finds on the machine on which KQueen runs. All fields are required.
type Host struct {
	// Dir is the data directory.
	Dir string
	// Program is the path of kqueen itself, and Version is its own.
	Program, Version string
	// Runner runs the components of control planes, and Supervisor what is a process of this host by nature.
	Runner     runner.Runner
	Supervisor *supervise.Supervisor
	// Changed receives a value after the state of one of the engine's workloads changed.
	Changed <-chan struct{}
	// Releases is the folder with the Kubernetes programs, and Installed are those in it.
	Releases  string
	Installed []release.Binaries
	// LastVersion is the Kubernetes version that the admin plane ran last; empty the first time. The engine calls
	// RememberVersion before it runs another one.
	LastVersion     string
	RememberVersion func(version string) error
	// Trust remembers which keys the engine has made that are never to be made again.
	Trust pki.Ledger
	// Problem says what is wrong with a part and keeps nothing from going on; nil when it is well again.
	Problem func(part string, problem error)
	// Domain is the suffix of server names.
	Domain string
	// AdvertiseAddress is how others reach this host.
	AdvertiseAddress netip.Addr
	// AuditLog is the file in which an API server on this host is to write what callers other than KQueen do.
	AuditLog string
	// Report is called when a step begins, and again when it has ended.
	Report func(stage.Step)
	Log    *slog.Logger
}

// Plane is an admin plane whose API server is healthy.
type Plane struct {
	// Config is how KQueen itself calls the API server. Its credentials do not expire: clients that are made of it follow what
	// Keep renews.
	Config *rest.Config
	// Store is the etcd that the engine offers to tenants' control planes; nil when it offers none.
	Store *Store
	// Audited says that the API server writes Host.AuditLog.
	Audited bool
	// WebhookCaller is who the API server is to webhooks, by the certificate that it presents to them; nil for one that
	// presents none, with which the path of KQueen's webhook is a secret instead: see docs/development/adr/0023.
	WebhookCaller *admission.Caller
}

// Store is how to reach an etcd: its endpoint, authority and root user.
type Store struct {
	Endpoint string
	Keys     pki.Bundle
	// Gate stands before it for tenants; nil when they call it directly.
	Gate *StoreGate
}

// StoreGate is how tenants reach a data store through its gate.
type StoreGate struct {
	Endpoint string
	// Keys have its authority, which signs the certificates of the gate and of tenants.
	Keys pki.Bundle
	// Tenants is the file of its tenants and their quotas, for storegate.OpenTable.
	Tenants string
	// Usage is the file that says what they hold, and how much is left for all, for storegate.ReadUsage.
	Usage string
}
