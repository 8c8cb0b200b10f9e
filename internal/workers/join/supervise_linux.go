package join

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/node"
)

// lookInterval is the time between two looks at what the machine keeps.
const lookInterval = time.Second

// ErrNotJoined says that this machine is no node.
var ErrNotJoined = errors.New("this machine has not joined a cluster")

// Supervisor keeps the programs of a joined machine running. When it ends they run on, for the next one.
type Supervisor struct {
	Place  Place
	Runner *supervise.Supervisor
	// Program is the path of kqueen itself.
	Program string
	// Changed tells that a program has begun or ended.
	Changed <-chan struct{}
	Log     *slog.Logger

	host    Host
	read    time.Time // of the record that was applied
	written machine.Observed
	good    string    // for which authorities the node had certificates then
	trusted []byte    // the authorities that the programs were described with
	said    string    // of them, on the Node
	asked   time.Time // when the cluster was last asked for its authorities
}

// Run keeps the programs running until ctx ends, or an error that trying again does not help. begun is called once
// when they are described for the first time.
func (s *Supervisor) Run(ctx context.Context, begun func()) error {
	host, err := Look(ctx, true)
	if err != nil {
		return err
	}
	s.host = host
	if err := s.prepare(ctx); err != nil {
		return err
	}
	begun()
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("the node is not as wanted; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.Changed:
		case <-tick.C:
		}
	}
}

// prepare creates again what a start of the machine takes away, and begins. It fails where only the operator can help.
func (s *Supervisor) prepare(ctx context.Context) error {
	r, err := s.Place.Record()
	if err != nil {
		return err
	}
	if r == nil {
		return ErrNotJoined
	}
	if err := errors.Join(node.SetKernel(), node.MakeCgroups(r.Cgroup())); err != nil {
		return err
	}
	return s.look(ctx)
}

// look describes the programs when what the machine keeps has changed, and says how they are.
func (s *Supervisor) look(ctx context.Context) error {
	info, err := os.Stat(s.Place.file(recordFile))
	if errors.Is(err, fs.ErrNotExist) { // it leaves; who makes it leave stops the programs
		return nil
	}
	if err != nil {
		return err
	}
	r, err := s.Place.Record()
	if err != nil {
		return err
	}
	if r.Token != "" && identified() {
		r.Token = ""
		if err := s.Place.Save(r); err != nil {
			return err
		}
		s.Log.Info("the machine has an identity in its cluster", "node", r.Node)
	}
	good, err := node.GoodFor(libDir)
	if err != nil {
		return fmt.Errorf("read for which authorities the node has certificates: %w", err)
	}
	if !info.ModTime().Equal(s.read) || good != s.good {
		if err := s.apply(ctx, r); err != nil {
			return err
		}
		s.read, s.good = info.ModTime(), good
	}
	return errors.Join(s.report(ctx), s.followAuthorities(ctx, r))
}

func (s *Supervisor) apply(ctx context.Context, r *Record) error {
	d, err := descriptionOf(ctx, s.Runner, s.Place, s.Program, s.host, r)
	if err != nil {
		return err
	}
	w, err := d.describe()
	if err != nil {
		return err
	}
	s.trusted = d.trusted
	if err := s.Runner.Apply(ctx, w); err != nil {
		return fmt.Errorf("start the node's programs: %w", err)
	}
	return nil
}

// descriptionOf finds what the programs depend on.
func descriptionOf(ctx context.Context, r *supervise.Supervisor, place Place, program string, host Host, of *Record) (description, error) {
	programs, err := FindPrograms(of.Releases, of.Cluster.Version, of.Parts)
	if err != nil {
		return description{}, err
	}
	at, err := r.Reserve(ctx, Workload, nil)
	if err != nil {
		return description{}, fmt.Errorf("reserve the folder of the node's programs: %w", err)
	}
	trusted, err := trustedBy(at.Dir, of.Cluster.CA)
	if err != nil {
		return description{}, err
	}
	return description{trusted: trusted, record: *of, place: place, dir: at.Dir, host: host, program: program, parts: programs.Parts, addons: programs.Addons, binaries: programs.Binaries}, nil
}

// report writes how the programs are, when that has changed.
func (s *Supervisor) report(ctx context.Context) error {
	status, err := s.Runner.Status(ctx, Workload)
	if err != nil {
		return fmt.Errorf("look at the node's programs: %w", err)
	}
	now := node.Judge(status.Health())
	if now == s.written {
		return nil
	}
	if err := s.Place.write(atomicfile.Host{}, statusFile, now); err != nil {
		return fmt.Errorf("write how the node's programs are: %w", err)
	}
	s.Log.Info("the node's programs", "state", now.State, "message", now.Message)
	s.written = now // only now: what could not be written is written at the next look
	return nil
}
