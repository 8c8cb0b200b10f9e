//go:build linux

// Package standalone is the engine that runs its admin plane itself: an etcd for it and one for tenants, and a kube-apiserver
// of our own, run by the same runner and described by the same function as a
// tenant's, so that KQueen needs nothing but one machine.
//
//	data directory
//	├── admin.kubeconfig   the administrator's way in
//	├── api-ca.crt         what signs the certificate of the REST API
//	├── kqueen.db          users, tokens and the audit log
//	├── settings.json      what was chosen once: ports, version; and the fingerprints of keys. Beside it a copy
//	├── audit/             what was done on the admin plane past the REST API, until it is in the audit log
//	├── keys/              keys of the store and of the admin plane, a file each
//	├── etcd/              the data of all control planes
//	├── etcd-admin/        the data of the admin plane
//	├── run/               what the runner keeps per workload: files, logs, ports
//	└── logs/              KQueen's own log
//
// The command line hands it to package app as an engine.Engine.
package standalone

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/admission"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Workloads of the plane itself. No control plane's UID is one of them.
const (
	WorkloadStore  = "etcd"
	WorkloadAdmin  = "admin"
	WorkloadEgress = "egress"
	WorkloadGate   = "store-gate"
	// WorkloadAdminStore is the etcd of the admin plane, where it has one of its own.
	WorkloadAdminStore = "etcd-admin"
)

// storeAuthority is the name of the store's authority among the signers of the admin plane's certificates.
const storeAuthority = "store-ca"

// KQueen calls the admin plane as itself and not as the administrator, so that what an administrator does can be told
// from what KQueen does. It says for whom it acts by impersonating.
const (
	ownLeaf = "kqueen"
	ownUser = "system:kqueen"
	ownLife = 365 * 24 * time.Hour
)

// The admin plane's API server is known to KQueen's webhook by a certificate of its own.
const (
	webhookLeaf          = "client"
	webhookCaller        = "kqueen-admin-apiserver"
	webhookAuthorityLife = 10 * ownLife
)

// Engine is the embedded admin plane. The zero value is ready for Up.
type Engine struct {
	// host and binaries are those of the last Up.
	host     engine.Host
	binaries release.Binaries
	// adminStore is the admin plane's etcd, where it has one of its own.
	adminStore *etcd
}

// New returns the engine that runs an admin plane of its own.
func New() *Engine { return &Engine{} }

// Workloads implements [engine.Engine].
func (*Engine) Workloads() []engine.Workload {
	return []engine.Workload{
		{ID: WorkloadEgress, Title: "the egress proxy"},
		{ID: WorkloadAdmin, Title: "the admin API server"},
		{ID: WorkloadAdminStore, Title: "the data store of the admin plane (etcd)"},
		{ID: WorkloadGate, Title: "the store gate"},
		{ID: WorkloadStore, Title: "the data store (etcd)"},
	}
}

// Up implements [engine.Engine].
func (e *Engine) Up(ctx context.Context, h engine.Host) (*engine.Plane, error) {
	binaries, err := choose(h.LastVersion, h.Installed)
	if err != nil {
		return nil, fmt.Errorf("%w; build one with: kqueen release build (in %s)", err, h.Releases)
	}
	if err := h.RememberVersion(binaries.Version.String()); err != nil {
		return nil, err
	}
	e.host, e.binaries = h, binaries
	kube.LookForCertificates(pki.LookAgain(kube.CertificateLook))
	return e.up(ctx, h.Report)
}

// renewInterval is the time between two looks at the plane's own certificates, which are due months
// before they expire.
const renewInterval = 12 * time.Hour

// maintainInterval is the time between two looks at what the admin plane's etcd could give back.
const maintainInterval = 5 * time.Minute

// Keep implements [engine.Engine]. For an admin plane that is healthy, bringing it up renews what is due and changes nothing else.
func (e *Engine) Keep(ctx context.Context, renewed func(context.Context, *engine.Plane) error) error {
	tick, maintain := time.NewTicker(pki.LookAgain(renewInterval)), time.NewTicker(maintainInterval)
	defer tick.Stop()
	defer maintain.Stop()
	for {
		e.maintain(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			plane, err := e.up(ctx, func(stage.Step) {})
			if err == nil {
				err = renewed(ctx, plane)
			}
			e.host.Problem("certificates", err)
			if err != nil {
				e.host.Log.Error("renew the admin plane's certificates", "error", err)
			}
		case <-maintain.C:
		}
	}
}

// maintain looks after the admin plane's etcd, as the reconciler of DataStore does after those of tenants.
func (e *Engine) maintain(ctx context.Context) {
	if e.adminStore == nil {
		return
	}
	done, err := e.adminStore.maintain(ctx)
	if err != nil && ctx.Err() == nil {
		e.host.Log.Error("maintain the etcd of the admin plane; it is tried again", "error", err)
	}
	if len(done.Shrunk) > 0 || len(done.Lifted) > 0 {
		e.host.Log.Info("the etcd of the admin plane was maintained", "shrunk", done.Shrunk, "freedBytes", done.Freed, "writesAgain", done.Lifted)
	}
}

func (e *Engine) up(ctx context.Context, report func(stage.Step)) (*engine.Plane, error) {
	up := &bringUp{Host: e.host, binaries: e.binaries}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"Keys", up.keys},
		{"Data store (etcd)", up.store},
		{"Store gate", up.gate},
		{"Admin API server", up.admin},
		{"Egress proxy", up.egress},
	}
	for _, s := range steps {
		if err := stage.Run(ctx, report, s.name, s.run); err != nil {
			return nil, err
		}
	}
	if up.adminStoreKeys != nil {
		e.adminStore = up.adminStore
	}
	config, err := kube.Config(kube.Target{Kubeconfig: ownKubeconfig(e.host.Dir), Version: e.host.Version})
	if err != nil {
		return nil, fmt.Errorf("read KQueen's own kubeconfig: %w", err)
	}
	kube.FollowCertificate(config, ownFile(e.host.Dir, certificateSuffix), ownFile(e.host.Dir, keySuffix))
	return &engine.Plane{
		Config: config, Store: &up.credentials, Audited: true,
		WebhookCaller: &admission.Caller{Name: webhookCaller, Authority: up.webhookKeys["ca.crt"]},
	}, nil
}

// Kubeconfig is the path of the administrator's kubeconfig in a data directory.
func Kubeconfig(dir string) string { return filepath.Join(dir, "admin.kubeconfig") }

// ownKubeconfig is the path of KQueen's own.
func ownKubeconfig(dir string) string { return filepath.Join(dir, "keys", "kqueen.kubeconfig") }

// Files of KQueen's own certificate, which its clients follow.
const (
	certificateSuffix = ".crt"
	keySuffix         = ".key"
)

func ownFile(dir, suffix string) string { return filepath.Join(dir, "keys", ownLeaf+suffix) }

// bringUp brings the plane up once.
type bringUp struct {
	engine.Host
	binaries    release.Binaries
	credentials engine.Store
	storeKeys   pki.Bundle
	// adminStoreKeys are nil where the admin plane shares the etcd of tenants.
	adminStoreKeys pki.Bundle
	adminStore     *etcd
	adminKeys      pki.Bundle
	webhookKeys    pki.Bundle
	encryptionKey  []byte
}

// wait waits until a workload's components are all ready.
func (u *bringUp) wait(ctx context.Context, id string) error {
	err := supervise.Await(ctx, u.Supervisor, id, u.Changed)
	if err != nil && ctx.Err() == nil {
		return u.stuck(id, err)
	}
	return err
}

// stuck says that a workload does not come up. Where it did before, KQueen goes on without: what runs beside it, and its
// status, are needed the more.
func (u *bringUp) stuck(id string, err error) error {
	if u.LastVersion == "" {
		return err
	}
	return &atomicfile.DamagedError{
		Path: filepath.Join(u.Dir, "run", "workloads", id), Problem: "does not come up: " + err.Error(), Remedy: "its log is there, and it is tried again",
	}
}

func (u *bringUp) serverName() string { return "admin." + u.Domain }
