//go:build linux

// Package standalone is the embedded admin plane: an etcd and a kube-apiserver
// of our own, run by the same runner and described by the same function as a
// tenant's, so that KQueen needs nothing but one machine.
//
//	data directory
//	├── admin.kubeconfig   the administrator's way in
//	├── api-ca.crt         what signs the certificate of the REST API
//	├── kqueen.db          users, tokens and the action log
//	├── settings.json      what was chosen once: ports, version
//	├── audit/             what was done on the admin plane past the REST API, until it is in the action log
//	├── keys/              keys of the store and of the admin plane, a file each
//	├── etcd/              the data of all control planes
//	├── run/               what the runner keeps per workload: files, logs, ports
//	└── logs/              KQueen's own log
//
// Only the place that wires the program enters.
package standalone

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/hosting/runner"
)

// Workloads of the plane itself. No control plane's UID is one of them.
const (
	WorkloadStore  = "etcd"
	WorkloadAdmin  = "admin"
	WorkloadEgress = "egress"
)

// KQueen calls the admin plane as itself and not as the administrator, so that what an administrator does can be told
// from what KQueen does. It says for whom it acts by impersonating.
const (
	ownLeaf = "kqueen"
	ownUser = "system:kqueen"
	ownLife = 365 * 24 * time.Hour
)

// IsOwn says whether a workload is the plane's own and not a tenant's.
func IsOwn(id string) bool {
	return id == WorkloadStore || id == WorkloadAdmin || id == WorkloadEgress
}

// Config is what the plane is made of. All fields are required.
type Config struct {
	// Dir is the data directory.
	Dir string
	// Program is the path of kqueen itself, which is etcd and egress under its subcommands of those names.
	Program string
	// Binaries are the Kubernetes programs of the admin plane.
	Binaries release.Binaries
	Runner   runner.Runner
	// Changed receives a value after the state of one of the plane's workloads changed.
	Changed <-chan struct{}
	// Domain is the suffix of server names.
	Domain string
	// AdvertiseAddress is how others reach this host.
	AdvertiseAddress netip.Addr
	// AuditLog is the file in which the API server writes what is done by anybody but KQueen itself.
	AuditLog string
	// Report is called when a step begins, and again when it has ended.
	Report func(Step)
}

// Step is one step of bringing the plane up.
type Step struct {
	Name string `json:"name"`
	// Done says that the step has ended well.
	Done bool `json:"done"`
	// Elapsed is the time that the step took.
	Elapsed time.Duration `json:"elapsed,omitempty"`
}

// Plane is an admin plane that serves.
type Plane struct {
	// Kubeconfig is the path of the administrator's kubeconfig, and OwnKubeconfig of KQueen's own.
	Kubeconfig, OwnKubeconfig string
	// Store is how to reach the etcd.
	Store StoreCredentials
}

// StoreCredentials are an etcd's endpoint, authority and root user.
type StoreCredentials struct {
	Endpoint string
	Keys     pki.Bundle
}

// Up brings the plane up, or finds it running. It may be called again after a crash at any instruction.
func Up(ctx context.Context, c Config) (*Plane, error) {
	up := &bringUp{Config: c, plane: &Plane{
		Kubeconfig: filepath.Join(c.Dir, "admin.kubeconfig"), OwnKubeconfig: filepath.Join(c.Dir, "keys", "kqueen.kubeconfig"),
	}}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"Keys", up.keys},
		{"Data store (etcd)", up.store},
		{"Admin API server", up.admin},
		{"Ways into clusters (egress)", up.egress},
	}
	for _, s := range steps {
		if err := Run(ctx, c.Report, s.name, s.run); err != nil {
			return nil, err
		}
	}
	return up.plane, nil
}

// Run runs a step and reports its begin and its end.
func Run(ctx context.Context, report func(Step), name string, run func(context.Context) error) error {
	begin := time.Now()
	report(Step{Name: name})
	if err := run(ctx); err != nil {
		return err
	}
	report(Step{Name: name, Done: true, Elapsed: time.Since(begin)})
	return nil
}

// bringUp is one call of Up.
type bringUp struct {
	Config
	plane         *Plane
	storeKeys     pki.Bundle
	adminKeys     pki.Bundle
	encryptionKey []byte
}

func (u *bringUp) keys(context.Context) error {
	dir := filepath.Join(u.Dir, "keys")
	for _, dir := range []string{dir, filepath.Dir(u.AuditLog)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the folder %s: %w", filepath.Base(dir), err)
		}
	}
	storeSet, err := pki.Store(pki.StoreParams{Name: "default"})
	if err != nil {
		return err
	}
	if u.storeKeys, err = Issue(filepath.Join(dir, "store.json"), storeSet, nil); err != nil {
		return fmt.Errorf("keys of the data store: %w", err)
	}
	adminSet, err := pki.ControlPlane(pki.ControlPlaneParams{
		UID:              WorkloadAdmin,
		DNSDomain:        adminNetwork.DNSDomain,
		ServiceCIDR:      adminNetwork.ServiceCIDR,
		SNIHost:          u.serverName(),
		AdvertiseAddress: u.AdvertiseAddress,
		StoreAuthority:   storeAuthority,
		StoreUser:        datastore.AdminKeyspace().User(),
	})
	if err != nil {
		return err
	}
	adminSet.Leaves = append(adminSet.Leaves, pki.Leaf{
		Name: ownLeaf, Authority: "ca", CommonName: ownUser, Organizations: []string{"system:masters"}, Usage: pki.Client, Lifetime: ownLife,
	})
	if u.adminKeys, err = Issue(filepath.Join(dir, "admin.json"), adminSet, u.storeKeys.Signer("ca", storeAuthority)); err != nil {
		return fmt.Errorf("keys of the admin plane: %w", err)
	}
	u.encryptionKey, err = SecretKey(filepath.Join(dir, "encryption.key"))
	return err
}

// wait waits until a workload's components are all ready.
func (u *bringUp) wait(ctx context.Context, id string) error {
	for {
		status, err := u.Runner.Status(ctx, id)
		if err != nil {
			return fmt.Errorf("look at %s: %w", id, err)
		}
		if status.Ready() {
			return nil
		}
		if err := givesUp(status); err != nil {
			return err
		}
		select {
		case <-u.Changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", id, context.Cause(ctx))
		}
	}
}

// tries is how often a component may end before the plane is said not to come up.
const tries = 3

// givesUp says why a workload will not come up without help, or nil.
func givesUp(status runner.Status) error {
	for _, c := range status.Components {
		if c.Reason == runner.ReasonPortTaken {
			return fmt.Errorf("start %s: %s; stop the program that listens there and try again", c.Name, c.Message)
		}
		if c.LastExit != nil && c.Restarts >= tries {
			return fmt.Errorf("start %s: it ended %d times, the last time with code %d; its last words are:\n%s", c.Name, c.Restarts, c.LastExit.Code, c.LastExit.Log)
		}
	}
	return nil
}

func (u *bringUp) serverName() string { return "admin." + u.Domain }
