//go:build linux

// Package app wires KQueen, and is the only package that does: from a Config it creates
// everything, runs it, and closes it in reverse. The command line starts it,
// and tests start it in-process.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/hosting/runner/process"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/server/status"
	"kqueen.io/kqueen/internal/tenancy/audit/kubeaudit"
	"kqueen.io/kqueen/internal/workers/machine/local"
)

// Config says how an installation runs. Engine, Program and Dir are required.
type Config struct {
	// Engine provides the admin plane.
	Engine engine.Engine
	// Dir is the data directory.
	Dir string
	// Program is the path of kqueen itself.
	Program string
	// Version of kqueen, for status.
	Version string
	// RestartedBy names what starts KQueen again when it crashes, for status.
	RestartedBy string
	// Releases is the folder with the Kubernetes programs.
	Releases string
	// Listen is the address on which API servers and the gateway listen; the zero Addr takes the one
	// of last time, or 127.0.0.1.
	Listen netip.Addr
	// GatewayPort is the gateway's port; 0 takes the one of last time, or 6443, or a free one.
	GatewayPort int
	// IngressPort is the port of the ingress gateway; 0 takes the one of last time, or 7443, or a free one.
	IngressPort int
	// APIPort is the port of the REST API; 0 takes the one of last time, or 8443, or a free one.
	APIPort int
	// Database is where KQueen keeps what is not desired state, as package database has it; empty takes the one of last time, or
	// a file in Dir. It may hold a password.
	Database string
	// Domain is the suffix of server names at the gateway; empty takes the one of last time, or "kqueen.internal".
	Domain string
	// MachineNetwork is cut into a subnet for the machines of each cluster on this host; the zero Prefix takes the
	// one of last time, or 10.223.0.0/16. Machines that are there keep their addresses.
	MachineNetwork netip.Prefix
	// EgressAllowed is what the API servers of all organizations may call beside their own clusters; nil takes what was said last
	// time, and one that is not nil and empty stands for nothing.
	EgressAllowed []egress.Destination
	// ImportAllowed is what the kubeconfigs of adopted clusters may lead to of what is closed to them, such as this host; nil takes
	// what was said last time, and one that is not nil and empty stands for nothing.
	ImportAllowed []egress.Destination
	// BackupAllowed is where S3 servers of backups may be of what is closed to them, such as this host; nil takes what was allowed before.
	BackupAllowed []egress.Destination
	// OwnBackupEvery is the time between two backups that the installation takes of itself, or [NoOwnBackups], and OwnBackupsKept how many of them are
	// kept; 0 takes what was said last time, or a day and 3.
	OwnBackupEvery time.Duration
	OwnBackupsKept int
	// Images says where the images come from that KQueen's own pods in clusters run: prepare.Bundled
	// or prepare.Upstream. Empty takes what was said last time; when nothing was, they are bundled where they are built.
	Images string
	// AgentImage is the image of the agent for clusters that nothing can dial, where users name none; empty takes what was said last time.
	AgentImage string
	Log        *slog.Logger
	// Report is called when a step of the start begins and when it has ended. Nil when it is not wanted.
	Report func(stage.Step)
	// Degraded is called when the installation runs in part, because something is damaged, and tries again until its owner
	// has put that right. Nil when it is not wanted.
	Degraded func(error)
	// MendInterval is the time between two looks at what was damaged; 0 for five seconds.
	MendInterval time.Duration
}

// App is an installation. It exists from New to Close and answers while Run runs.
type App struct {
	Config
	settings *settings
	// remembering is held by what reads or changes settings while the installation runs.
	remembering sync.Mutex
	problems    problems
	// serving says that everything is ready.
	serving    atomic.Bool
	supervisor *supervise.Supervisor
	notices    *notices
	// gateway is that of API servers, and ingress that of the applications in clusters.
	gateway, ingress *front
	began            time.Time
	// api is nil until the REST API is ready.
	api atomic.Pointer[apiServer]
	// here makes machines on this host; nil until they are found.
	here atomic.Pointer[local.Provider]
	// connections lead to the API servers of clusters; nil until the admin plane is healthy.
	connections atomic.Pointer[connection.Connections]
	// simulation is what runs simulated clusters, where they are wanted.
	simulation *simulation
	// agents are those in clusters that nothing can dial.
	agents *tunnel.Sessions
	// admin reads the admin plane; nil until its API server is healthy.
	admin atomic.Pointer[client.Reader]
}

// firstGatewayPort is what users of Kubernetes expect.
const firstGatewayPort = 6443

// firstIngressPort ends as that of HTTPS does.
const firstIngressPort = 7443

// New checks the data directory, takes its lock and finds what runs. It fails with a
// *supervise.LockedError when another kqueen has the same data directory.
func New(ctx context.Context, c Config) (*App, error) {
	if c.Report == nil {
		c.Report = func(stage.Step) {}
	}
	if c.Degraded == nil {
		c.Degraded = func(error) {}
	}
	c.MendInterval = cmp.Or(c.MendInterval, usualMendInterval)
	if err := interrupted(c.Dir); err != nil {
		return nil, err
	}
	low := prepareDir(c.Dir)
	if _, ok := errors.AsType[*lowDiskError](low); low != nil && (!ok || !Used(c.Dir)) {
		return nil, low
	}
	settings, err := loadSettings(c.Dir)
	if err != nil {
		return nil, err
	}
	c = settings.merge(c)
	if err := checkEgress(c.EgressAllowed, c.MachineNetwork); err != nil {
		return nil, err
	}
	if slices.Contains(c.ImportAllowed, egress.Destination{}) {
		return nil, errors.New("--import-allow: an entry is empty")
	}
	if slices.Contains(c.BackupAllowed, egress.Destination{}) {
		return nil, errors.New("--backup-allow: an entry is empty")
	}
	a := &App{Config: c, settings: settings, notices: newNotices(c.Engine), began: time.Now()}
	a.agents = tunnel.NewSessions(maxAgents, time.Now, a.notices.clusters.Send)
	a.gateway, a.ingress = newFronts(a.Config, a.notices)
	a.simulation = &simulation{a: a}
	a.problems.note("disk", low)
	a.problems.note("settings", settings.mended)
	a.supervisor, err = supervise.New(supervise.Config{
		Dir:    runDir(c.Dir),
		Listen: c.Listen,
		Log:    c.Log.With("part", "supervisor"),
		Notify: a.notices.workload,
	})
	if err != nil {
		return nil, err
	}
	err = mendPorts(a)
	if err == nil {
		err = openFronts(ctx, a)
	}
	if err != nil {
		return nil, errors.Join(err, a.supervisor.Close())
	}
	return a, nil
}

// mendPorts has other ports chosen for the installation's own workloads where it is not known any more which they had.
func mendPorts(a *App) error {
	for _, own := range append([]engine.Workload{{ID: workloadGateway}, {ID: workloadIngress}, {ID: workloadSimulator}}, a.Engine.Workloads()...) {
		aside, err := a.supervisor.MendPorts(own.ID)
		if err != nil {
			return err
		}
		if aside != "" {
			a.problems.note("ports of "+own.ID, fmt.Errorf("the ports of %s were damaged, and are in %s now; it was started again on others", own.ID, aside))
		}
	}
	return nil
}

// Run runs the installation until ctx ends. ready is called once, when everything is ready. What the supervisor has
// started runs on after Run.
func (a *App) Run(ctx context.Context, ready func()) error {
	group, ctx := errgroup.WithContext(ctx)
	// From the beginning: an owner whose installation cannot start needs its status most.
	group.Go(func() error { return a.socket().Serve(ctx) })
	group.Go(func() error { return persist(ctx, a, sync.OnceFunc(ready)) })
	return group.Wait()
}

// partStart is the part whose problem keeps KQueen from being ready.
const partStart = "start"

// usualMendInterval is that of [Config].
const usualMendInterval = 5 * time.Second

// persist serves, and where something is damaged that only the owner can put right, says so and tries again: what runs, the
// gateway for one, goes on meanwhile, and the owner can ask for the status.
func persist(ctx context.Context, a *App, ready func()) error {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
		err := a.serve(ctx, ready)
		a.serving.Store(false)
		if _, ok := errors.AsType[*atomicfile.DamagedError](err); !ok || ctx.Err() != nil {
			return err
		}
		a.problems.note(partStart, err)
		a.Log.Error("KQueen runs in part", "error", err)
		a.Degraded(fmt.Errorf("KQueen runs in part, and tries again until that is put right: %w", err))
		again.Reset(a.MendInterval)
	}
}

// serve runs everything until ctx ends or something fails.
func (a *App) serve(ctx context.Context, ready func()) error {
	installed, damaged := release.NewStore(a.Releases).List()
	if damaged != nil { // the others are as good as before
		damaged = fmt.Errorf("%w; build it again with: kqueen release build", damaged)
		a.Log.Error("a release is damaged", "error", damaged)
	}
	a.problems.note("releases", damaged)
	plane, err := a.Engine.Up(ctx, a.host(installed))
	if err != nil {
		return errors.Join(err, damaged)
	}
	if err := stage.Run(ctx, a.Report, "Gateways", func(ctx context.Context) error { return serveFronts(ctx, a) }); err != nil {
		return err
	}
	if err := a.simulation.resume(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.Engine.Keep(ctx, renewed) })
	group.Go(func() error { return a.simulation.keep(ctx) })
	group.Go(func() error {
		return a.control(ctx, plane, installed, func() {
			a.problems.note(partStart, nil)
			a.serving.Store(true)
			ready()
		})
	})
	return group.Wait()
}

// socket is where the owner reads the status of the installation.
func (a *App) socket() *status.Socket {
	return &status.Socket{
		Dir: a.Dir, Version: a.Version, RestartedBy: a.RestartedBy, Gateway: a.gatewayAddress(), Ingress: a.dialed(a.settings.IngressPort), API: a.apiAddress, StartedAt: a.began, Log: a.Log,
		Ready: a.serving.Load, Stalled: func() bool { return a.problems.has(partStart) }, Problems: a.problems.list,
		Supervisor: a.supervisor,
		Owns:       func(id string) bool { return owns(a.Engine, id) },
		Demo:       a.simulation.wanted, Simulate: a.simulation.Begin,
		Admin: func() client.Reader {
			if admin := a.admin.Load(); admin != nil {
				return *admin
			}
			return nil
		},
		Warnings: func(workloads int) []string {
			if here := a.here.Load(); here != nil {
				return here.Shortages(workloads)
			}
			return nil
		},
		Tokens: func() *status.Tokens {
			if d := a.api.Load(); d != nil {
				return &status.Tokens{Setup: d.access.Setup, Audit: d.audit}
			}
			return nil
		},
	}
}

// host is what the engine finds here.
func (a *App) host(installed []release.Binaries) engine.Host {
	return engine.Host{
		Dir: a.Dir, Program: a.Program, Version: a.Version, Runner: a.planes(), Supervisor: a.supervisor, Changed: a.notices.own,
		Releases: a.Releases, Installed: installed,
		LastVersion:     a.settings.AdminVersion,
		RememberVersion: func(version string) error { return ledger{a}.remember(func(s *settings) { s.AdminVersion = version }) },
		Trust:           ledger{a},
		Problem:         a.problems.note,
		Domain:          a.Domain, AdvertiseAddress: advertiseAddress(a.Listen), AuditLog: kubeaudit.Path(a.auditDir()),
		Report: a.Report, Log: a.Log.With("part", "engine"),
	}
}

// planes runs control planes as processes of this host.
func (a *App) planes() runner.Runner {
	return process.New(a.supervisor, process.Installed(release.NewStore(a.Releases)))
}

// Close releases the lock. Everything that was started runs on; see Down.
func (a *App) Close() error { return a.supervisor.Close() }

// auditDir is where an API server on this host writes what is done past the REST API, until it is in the audit log.
func (a *App) auditDir() string { return filepath.Join(a.Dir, auditFolder) }

func runDir(dir string) string { return filepath.Join(dir, "run") }

// imagesDir is where the owner puts archives of images for machines on this host.
func imagesDir(dir string) string { return filepath.Join(dir, imagesFolder) }

// prepareDir creates the data directory, or says why it cannot be used.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w; choose another with --data-dir", err)
	}
	err := checkDir(dir)
	if _, low := errors.AsType[*lowDiskError](err); err != nil && !low {
		return err
	}
	if made := os.MkdirAll(filepath.Join(dir, "keys"), 0o700); made != nil {
		return fmt.Errorf("make the folder for keys: %w", made)
	}
	return err
}
