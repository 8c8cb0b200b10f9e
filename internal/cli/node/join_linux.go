package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/workers/join"
)

// machineJoin is one run of `node join`.
type machineJoin struct {
	env                *connection.Env
	dir, releases      string
	tokenFile, address string
	wait               bool
	timeout            time.Duration

	want  join.Request
	place join.Place
}

// newMachineJoinCommand returns `node join`.
func newMachineJoinCommand(e *connection.Env) *cobra.Command {
	j := &machineJoin{env: e}
	cmd := &cobra.Command{
		Use:   "join SERVER --token-file FILE --ca-cert-hash HASH --node-name NAME",
		Short: "Join this machine to a cluster",
		Long: `Join the machine on which this runs to a cluster, as "kqueen node join-command"
prints it where KQueen runs. It requires root, and starts upstream's containerd,
kubelet and kube-proxy of the cluster's version, which go on in the background.
Their programs come from the folder for releases; see "kqueen release build".

It is safe to run again: what is done is not done twice. "kqueen node leave" undoes
it. After a reboot something has to run "kqueen node run", such as a systemd unit.`,
		Example: `  echo abcdef.0123456789abcdef | kqueen node join 198.51.100.7:20001 --token-file - --ca-cert-hash sha256:… --node-name hand-x7k2f
  kqueen node join 198.51.100.7:20001 --token-file token --ca-cert-hash sha256:… --node-name hand-x7k2f`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.UsageError(cmd, "%s needs one SERVER, as HOST:PORT", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			j.want.Server = args[0]
			if err := j.complete(cmd); err != nil {
				return err
			}
			return j.run(cmd.Context())
		},
	}
	j.register(cmd)
	return cmd
}

func (j *machineJoin) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&j.tokenFile, "token-file", "", "file with the token that joins this one machine, or - for standard input")
	f.StringSliceVar(&j.want.Hashes, "ca-cert-hash", nil, "hash of the key of the cluster's certificate authority, as sha256:HEX (may be repeated)")
	f.StringVar(&j.want.Node, "node-name", "", "name of the Machine that this machine becomes")
	f.StringVar(&j.address, "node-ip", "", "address at which KQueen reaches this machine (default the one from which it calls SERVER)")
	f.StringVar(&j.releases, "releases", "", "folder with the programs of Kubernetes and of nodes (env KQUEEN_RELEASES; default /var/cache/kqueen/releases)")
	f.BoolVar(&j.wait, "wait", true, "wait until the node is ready")
	registerDir(cmd, &j.dir)
	command.RegisterTimeout(cmd, &j.timeout)
	for _, name := range []string{"ca-cert-hash", "node-name", "node-ip"} {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
	_ = cmd.MarkFlagDirname("releases")
	command.RefuseSecrets(cmd, map[string]string{"token": "--token-file FILE, or - for standard input"}) //nolint:gosec // the name of a flag
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "discovery-token-ca-cert-hash" { // kubeadm's name of it
			name = "ca-cert-hash"
		}
		return pflag.NormalizedName(name)
	})
}

// complete reads what the flags name, and refuses what cannot be right.
func (j *machineJoin) complete(cmd *cobra.Command) error {
	if j.tokenFile == "" {
		return exit.UsageError(cmd, "--token-file: is missing; give the file with the token, or - for standard input")
	}
	token, err := j.env.SecretFromFile(cmd.Context(), j.tokenFile, "token", "Token: ")
	if err != nil {
		return err
	}
	j.want.Token = token
	if j.address != "" {
		address, err := netip.ParseAddr(j.address)
		if err != nil {
			return exit.UsageError(cmd, "--node-ip: %q is not an IP address", j.address)
		}
		j.want.Address = address
	}
	if err := j.want.Check(); err != nil {
		return exit.UsageError(cmd, "%w", inFlags(err))
	}
	place, err := placeAt(j.dir)
	if err != nil {
		return err
	}
	j.place = place
	if j.releases == "" {
		if j.releases, err = release.DefaultDir(); err != nil {
			return err
		}
	}
	j.releases, err = filepath.Abs(j.releases)
	return err
}

// inFlags names the flag that a request's field comes from.
func inFlags(err error) error {
	bad, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		return err
	}
	flag := map[string]string{"Server": "SERVER", "Token": "the token", "Hashes": "--ca-cert-hash", "Node": "--node-name"}[bad.Field]
	if bad.Field == "Token" {
		return fmt.Errorf("%s %s", flag, bad.Problem) // never repeated: it is a secret
	}
	return fmt.Errorf("%s: %s", flag, bad.Problem)
}

// run joins, or goes on where an earlier run ended.
func (j *machineJoin) run(ctx context.Context) error {
	start := time.Now()
	print := daemon.StepPrinter(j.env.Stderr)
	var record *join.Record
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"Check this machine", func(ctx context.Context) (err error) { record, err = j.check(ctx); return err }},
		{"Find the cluster", func(ctx context.Context) error { return j.discover(ctx, record) }},
		{"Find its programs", func(context.Context) error { return j.programs(record) }},
		{"Start its programs", func(ctx context.Context) error { return j.start(ctx, record) }},
	}
	for _, s := range steps {
		if err := stage.Run(ctx, print, s.name, s.do); err != nil {
			return err
		}
	}
	if !j.wait {
		return nil
	}
	return j.await(ctx, start)
}

// check looks what the machine is like, and returns what it keeps: an empty record when it is new.
func (j *machineJoin) check(ctx context.Context) (*join.Record, error) {
	if os.Geteuid() != 0 { // what it keeps is root's to read
		return nil, join.Host{}.Check()
	}
	record, err := j.place.Record()
	if err != nil {
		return nil, err
	}
	if record != nil {
		if err := record.Same(j.want); err != nil {
			return nil, exit.Fail(exit.Failed, "%w\nremove it first with: kqueen node leave", err)
		}
	}
	if record == nil {
		if err := j.place.Empty(); err != nil {
			return nil, err
		}
	}
	host, err := join.Look(ctx, record != nil)
	if err != nil {
		return nil, err
	}
	if err := host.Check(); err != nil {
		return nil, err
	}
	if record != nil {
		return record, nil
	}
	before, err := join.Remember()
	return &join.Record{Node: j.want.Node, Before: before}, err
}

// discover learns what the cluster is. A machine that has its identity there needs no token any more.
func (j *machineJoin) discover(ctx context.Context, record *join.Record) error {
	if record.Joined() {
		return nil
	}
	cluster, err := join.Discover(ctx, j.want)
	if err != nil {
		return err
	}
	record.Cluster, record.Token = cluster, j.want.Token
	record.Address = j.want.Address
	if !record.Address.IsValid() {
		record.Address, err = join.OwnAddress(ctx, j.want.Server)
	}
	return err
}

func (j *machineJoin) programs(record *join.Record) error {
	found, err := join.FindPrograms(j.releases, record.Cluster.Version, record.Parts)
	if err != nil {
		return err
	}
	record.Releases, record.Parts = j.releases, found.Parts.Dir
	return nil
}

// startTimeout bounds the time until a supervisor has described the programs.
const startTimeout = time.Minute

// start notes what the machine has joined, and sees that a process supervises its programs. Who does already reads
// the note.
func (j *machineJoin) start(ctx context.Context, record *join.Record) error {
	if err := j.place.Save(record); err != nil {
		return err
	}
	if _, yes, err := supervised(j.place); err != nil || yes {
		return err
	}
	lines, wait, err := daemon.Spawn(string(j.place), "--dir", "node", "run", "--dir="+string(j.place))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, exit.Fail(exit.TimedOut, "the node's programs are not started after %s; see %s", startTimeout, daemon.ServerLog(string(j.place))))
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = lines.Close() })()
	err = daemon.Follow(lines, func(stage.Step) {})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) {
		return exit.Fail(exit.Failed, "what supervises the node's programs ended (%v); see %s and %s beside it", wait(), daemon.ServerLog(string(j.place)), daemon.LastWords)
	}
	return err
}
