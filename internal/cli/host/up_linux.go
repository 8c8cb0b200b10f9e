package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/engine/standalone"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/prepare"
)

// databaseVariable is no flag, because it may hold a password, and every user of the machine sees flags.
const databaseVariable = "KQUEEN_DATABASE"

// upFlags are the flags of `up`.
type upFlags struct {
	demo           bool
	foreground     bool
	systemd        bool
	listen         string
	gatewayPort    int
	ingressPort    int
	apiPort        int
	domain         string
	machineNetwork string
	egressAllow    []string
	importAllow    []string
	backupAllow    []string
	ownBackupEvery string
	ownBackupsKept int
	images         string
	agentImage     string
	timeout        time.Duration
}

func newUpCommand(e *connection.Env) *cobra.Command {
	var flags upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start KQueen on this machine",
		Long: `Start KQueen on this machine, or find it running, and return when everything
is ready. The server runs in the background; see "kqueen status", and stop it
with "kqueen down". Running control planes go on, and data is kept. When the server
crashes, its keeper, a small process beside it, starts it again; "kqueen status"
says when it crashed last and where its last words are.

With --systemd, as root on a host with systemd, that takes the place of the
keeper: KQueen becomes the service kqueen.service, which starts with the host.
What runs goes on meanwhile, and the command that undoes it is printed.

With --foreground it does not return, for other service managers. It ends on SIGTERM and
leaves the control planes running, so that it can be restarted or upgraded
without an interruption for users of clusters.

With --demo, a new installation is filled, so that there is something to see:
organizations with users and quotas, a cluster with nodes where this host can have
any, and simulated clusters, which are marked as such. Run it again to go on where it
was interrupted; "kqueen reset" removes everything.

Users, tokens and the audit log are kept in a file of the data directory, or,
with the URL of a PostgreSQL database in KQUEEN_DATABASE, there. Settings are kept
until they are changed.`,
		Example: `  kqueen up
  kqueen up --demo
  kqueen up --data-dir ~/kqueen --gateway-port 7443
  kqueen up --systemd
  kqueen up --foreground`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.checkDemo(cmd); err != nil {
				return err
			}
			switch {
			case flags.foreground && flags.systemd:
				return exit.UsageError(cmd, "--foreground is another way than --systemd; choose one")
			case flags.foreground:
				return serve(cmd.Context(), e, flags)
			case flags.systemd:
				return startAsService(cmd.Context(), e, flags, hostSystemd())
			}
			return start(cmd.Context(), e, flags)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.demo, "demo", false, "fill a new installation with organizations, users and clusters to look at")
	f.BoolVar(&flags.foreground, "foreground", false, "run in the foreground, and log to standard error")
	f.BoolVar(&flags.systemd, "systemd", false, "make it a systemd service, which starts with the host")
	f.StringVar(&flags.listen, "listen", "", "address on which the gateway and the API servers listen; 0.0.0.0 for all (default as before; at first 127.0.0.1)")
	f.IntVar(&flags.ingressPort, "ingress-port", 0, "port of the ingress gateway, for applications in clusters (default as before; at first 7443 or a free one)")
	f.IntVar(&flags.gatewayPort, "gateway-port", 0, "port of the gateway (default as before; at first 6443 or a free one)")
	f.IntVar(&flags.apiPort, "api-port", 0, "port of the REST API (default as before; at first 8443 or a free one)")
	f.StringVar(&flags.domain, "domain", "", "suffix of the API servers' names at the gateway (default as before; at first kqueen.internal)")
	f.StringVar(&flags.machineNetwork, "machine-network", "", "IPv4 network from which each cluster gets a /24 for its machines on this host (default as before; at first 10.223.0.0/16)")
	f.StringSliceVar(&flags.egressAllow, "egress-allow", nil, "address or range and port that API servers of all organizations may call beside their own clusters, such as 192.0.2.0/24:443, or none; may be repeated (default as before; at first none)")
	_ = cmd.RegisterFlagCompletionFunc("egress-allow", command.NoCompletion)
	f.StringSliceVar(&flags.importAllow, "import-allow", nil, "address or range and port that adopted clusters may be at although it is closed to them, such as 127.0.0.1:6443, or none; may be repeated (default as before; at first none)")
	_ = cmd.RegisterFlagCompletionFunc("import-allow", command.NoCompletion)
	f.StringSliceVar(&flags.backupAllow, "backup-allow", nil, "address or range and port that S3 servers of backups may be at although it is closed to them, such as 127.0.0.1:9000, or none; may be repeated (default as before; at first none)")
	_ = cmd.RegisterFlagCompletionFunc("backup-allow", command.NoCompletion)
	f.StringVar(&flags.ownBackupEvery, "installation-backup-every", "", "time between two backups that the installation takes of itself, into its data directory, such as 6h, or none (default as before; at first 24h)")
	_ = cmd.RegisterFlagCompletionFunc("installation-backup-every", command.OneOf("6h", "24h", "none"))
	f.IntVar(&flags.ownBackupsKept, "installation-backups-kept", 0, "how many of these are kept (default as before; at first 3)")
	f.StringVar(&flags.images, "images", "", "images that KQueen's own pods in clusters run: bundled (built with the programs of machines here) or upstream (pulled from registry.k8s.io and ghcr.io) (default as before; at first bundled where they are built)")
	f.StringVar(&flags.agentImage, "agent-image", "", "image of the agent for clusters that nothing can dial, as their nodes pull it; see make agent-image (default as before; at first none)")
	_ = cmd.RegisterFlagCompletionFunc("agent-image", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("images", command.OneOf(prepare.Sources()...))
	f.DurationVar(&flags.timeout, "timeout", 3*time.Minute, "maximum time to wait until everything is ready")
	return cmd
}

// What starts KQueen again when it crashes, as its status has it.
const byKeeper, bySystemd = "keeper", "systemd"

// serve is the server. It reports its steps to the parent, if there is one.
func serve(ctx context.Context, e *connection.Env, flags upFlags) error {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	config, err := flags.config(dir)
	if err != nil {
		return err
	}
	report, err := daemon.OpenReport()
	if err != nil {
		return err
	}
	manager, err := daemon.OpenManager()
	if err != nil {
		return err
	}
	config.Log = slog.New(slog.NewJSONHandler(report.Log(e.Stderr, dir), nil))
	config.Report = report.Step
	switch {
	case manager.There():
		config.RestartedBy = bySystemd
	case !report.Alone():
		config.RestartedBy = byKeeper
	}
	if report.Alone() { // otherwise the parent has looked
		warnings, refusal := judgeHost(app.HostFacts(ctx, app.Config{Dir: dir}))
		if refusal != nil {
			return refusal
		}
		for _, warning := range warnings {
			config.Log.Warn("this host has too little", "check", warning)
		}
	}
	// What the libraries say goes to the same log. It is the process' own, so it is not set by each installation.
	ctrl.SetLogger(logr.FromSlogHandler(config.Log.Handler()))
	klog.SetSlogLogger(config.Log)
	// That, too, is the process' own. What it starts says by itself when it is to go.
	if err := confine.Keep(); err != nil {
		config.Log.Warn("KQueen is ended like any other process when memory runs out", "error", err)
	}
	err = serveWith(ctx, config, report, manager)
	report.End(err)
	return err
}

// noteRunning notes that a server runs that has no keeper, so that the next one knows whether it crashed. What it returns takes the
// note back. The lock of the data directory is held.
func noteRunning(report *daemon.Report, manager *daemon.Manager, config app.Config) (ended func()) {
	if !report.Alone() {
		return func() {}
	}
	place := "what started it has its standard error"
	if manager.There() {
		place = "its standard error is in the journal: journalctl -u " + unitName
	}
	if err := daemon.NoteRunning(config.Dir, place); err != nil {
		config.Log.Warn("a crash would not be noted", "error", err)
	}
	return func() {
		if err := daemon.NoteEnded(config.Dir); err != nil {
			config.Log.Warn("the end of KQueen will be taken for a crash", "error", err)
		}
	}
}

func serveWith(ctx context.Context, config app.Config, report *daemon.Report, manager *daemon.Manager) error {
	tell := func(word string) {
		if err := manager.Tell(context.WithoutCancel(ctx), word); err != nil {
			config.Log.Error("the service manager does not hear", "error", err)
		}
	}
	var a *app.App
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	began := sync.OnceFunc(func() {
		tell("READY=1")
		watch.Go(func() {
			manager.Watch(watching, func(ctx context.Context) error { return app.Alive(ctx, a) }, config.Log)
		})
	})
	// One that runs in part is not to be started again either: its owner has to act.
	config.Degraded = func(err error) {
		report.Degraded(err)
		began()
	}
	a, err := app.New(ctx, config)
	if err != nil {
		stop()
		return explainLocked(err, config.Dir)
	}
	defer context.AfterFunc(ctx, func() { tell("STOPPING=1") })()
	ended := noteRunning(report, manager, config)
	err = a.Run(ctx, func() {
		config.Log.Info("serving", "dir", config.Dir)
		report.Ready()
		began()
	})
	stop()
	watch.Wait()
	ended()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, a.Close())
}

func (flags upFlags) checkPorts() error {
	for _, p := range []struct {
		flag string
		port int
	}{{"--ingress-port", flags.ingressPort}, {"--gateway-port", flags.gatewayPort}, {"--api-port", flags.apiPort}} {
		if p.port < 0 || p.port > 65535 {
			return exit.Fail(exit.Usage, "%s: %d is not between 1 and 65535", p.flag, p.port)
		}
	}
	return nil
}

func (flags upFlags) config(dir string) (app.Config, error) {
	var listen netip.Addr
	if flags.listen != "" {
		var err error
		if listen, err = netip.ParseAddr(flags.listen); err != nil {
			return app.Config{}, exit.Fail(exit.Usage, "--listen: %q is not an IP address; write one such as 127.0.0.1 or 0.0.0.0", flags.listen)
		}
	}
	machines, err := flags.machines()
	if err != nil {
		return app.Config{}, err
	}
	allowed, err := destinations("--egress-allow", flags.egressAllow, func(d egress.Destination) error { return d.Check(nil) })
	if err != nil {
		return app.Config{}, err
	}
	// What is closed to kubeconfigs of users is what this list is for.
	adopted, err := destinations("--import-allow", flags.importAllow, func(egress.Destination) error { return nil })
	if err != nil {
		return app.Config{}, err
	}
	backups, err := destinations("--backup-allow", flags.backupAllow, func(egress.Destination) error { return nil })
	if err != nil {
		return app.Config{}, err
	}
	every, err := flags.ownBackups()
	if err != nil {
		return app.Config{}, err
	}
	if err := flags.checkPorts(); err != nil {
		return app.Config{}, err
	}
	if flags.images != "" && !slices.Contains(prepare.Sources(), flags.images) {
		return app.Config{}, exit.Fail(exit.Usage, "--images: %q has to be %s", flags.images, strings.Join(prepare.Sources(), " or "))
	}
	self, err := os.Executable()
	if err != nil {
		return app.Config{}, fmt.Errorf("find this program: %w", err)
	}
	releases, err := release.DefaultDir()
	if err != nil {
		return app.Config{}, err
	}
	return app.Config{
		Engine: standalone.New(), Dir: dir, Program: self, Version: program.Version(), Releases: releases,
		Listen: listen, GatewayPort: flags.gatewayPort, IngressPort: flags.ingressPort, APIPort: flags.apiPort, Database: os.Getenv(databaseVariable), Domain: flags.domain, MachineNetwork: machines, Images: flags.images, AgentImage: flags.agentImage,
		EgressAllowed: allowed, ImportAllowed: adopted, BackupAllowed: backups, OwnBackupEvery: every, OwnBackupsKept: flags.ownBackupsKept,
	}, nil
}

// Bounds of what is said about backups that the installation takes of itself: each reads all of its data.
const leastOwnBackupEvery, mostOwnBackupsKept = 10 * time.Minute, 100

// ownBackups reads the time between two, and checks how many are kept; 0 where the user does not say.
func (flags upFlags) ownBackups() (time.Duration, error) {
	if flags.ownBackupsKept < 0 || flags.ownBackupsKept > mostOwnBackupsKept {
		return 0, exit.Fail(exit.Usage, "--installation-backups-kept: %d is not between 1 and %d", flags.ownBackupsKept, mostOwnBackupsKept)
	}
	switch flags.ownBackupEvery {
	case "":
		return 0, nil
	case "none":
		return app.NoOwnBackups, nil
	}
	every, err := time.ParseDuration(flags.ownBackupEvery)
	if err != nil || every < leastOwnBackupEvery {
		return 0, exit.Fail(exit.Usage, "--installation-backup-every: %q is neither none nor a time of at least %s, such as 6h", flags.ownBackupEvery, leastOwnBackupEvery)
	}
	return every, nil
}

// destinations reads the list of a flag; nil when the user does not say.
func destinations(flag string, given []string, check func(egress.Destination) error) ([]egress.Destination, error) {
	switch strings.Join(given, "") {
	case "":
		return nil, nil
	case "none":
		return []egress.Destination{}, nil
	}
	var all []egress.Destination
	for _, text := range given {
		d, err := egress.ParseDestination(text)
		if err == nil {
			err = check(d)
		}
		if err != nil {
			return nil, exit.Fail(exit.Usage, "%s: %w", flag, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// machines is the network of machines; the zero Prefix when the user does not say.
func (flags upFlags) machines() (netip.Prefix, error) {
	if flags.machineNetwork == "" {
		return netip.Prefix{}, nil
	}
	const subnet, smallest = 24, 8
	p, err := netip.ParsePrefix(flags.machineNetwork)
	if err != nil || !p.Addr().Is4() || p != p.Masked() || p.Bits() > subnet || p.Bits() < smallest {
		return p, exit.Fail(exit.Usage, "--machine-network: %q is not an IPv4 network of /%d to /%d with no host bits set; write one such as 10.223.0.0/16", flags.machineNetwork, smallest, subnet)
	}
	return p, nil
}

// explainLocked says what to do when another kqueen serves the data directory.
func explainLocked(err error, dir string) error {
	if _, ok := errors.AsType[*supervise.LockedError](err); !ok {
		return err
	}
	return exit.Fail(exit.Failed, "another kqueen serves %s (%w); see: kqueen status --data-dir %s", dir, err, console.ShellQuote(dir))
}
