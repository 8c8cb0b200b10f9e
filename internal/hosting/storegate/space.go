package storegate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// space is what is left of the store for all tenants together. An etcd whose file is full takes no write of any tenant, not even
// those with which a deletion begins: the last of it is kept for these, and for what KQueen writes itself.
type space struct {
	left atomic.Int32 // a Level
	// slow is how much all tenants write together while little is left, of the same size as before too: etcd keeps what was
	// overwritten for eight minutes at worst, and that must not be what fills it.
	slow *rate.Limiter
}

// Level is how much is left of a store.
type Level int32

// Levels, each worse than the one before.
const (
	Enough Level = iota
	// Scarce: little is left, and nothing grows but what deletions need.
	Scarce
	// Last: nearly nothing is left, and nothing grows.
	Last
)

// levelWords are those of levels in files.
func levelWords() []string { return []string{Enough: "enough", Scarce: "scarce", Last: "last"} }

// MarshalText implements [encoding.TextMarshaler].
func (l Level) MarshalText() ([]byte, error) {
	if l < Enough || l > Last {
		return nil, fmt.Errorf("level %d of a store is none of those that there are", int32(l))
	}
	return []byte(levelWords()[l]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *Level) UnmarshalText(text []byte) error {
	i := slices.Index(levelWords(), string(text))
	if i < 0 {
		return fmt.Errorf("level %q of a store: want one of %s", text, strings.Join(levelWords(), ", "))
	}
	*l = Level(i)
	return nil
}

const (
	spaceInterval = time.Second
	// scarceAt is in hundredths of what etcd may hold.
	scarceAt = 90
	// slowBytesPerSecond, for eight minutes, is half of what is left when little is, of eight gigabytes.
	slowBytesPerSecond = 800 << 10
	slowBytesAtOnce    = 4 << 20
)

var errFull = status.Error(codes.ResourceExhausted, "store gate: the data store that the installation's clusters share is nearly full, and nothing may grow in it; "+
	"delete objects, or have an administrator of the installation free some of it")

func newSpace() *space {
	return &space{slow: rate.NewLimiter(slowBytesPerSecond, slowBytesAtOnce)}
}

// levelOf judges by what is in use of the file, because what is free within is used before the file grows. That does not hold
// for all of it, as large objects do not fit everywhere (a fifth was seen): a file that is nearly as large as it may be has
// little left too, until it is written anew. It is pure.
func levelOf(used, file, quota int64) Level {
	switch percent := quota / 100; {
	case percent <= 0: // not known
		return Enough
	case datastore.NearlyFull(used, quota):
		return Last
	case used >= percent*scarceAt, datastore.NearlyFull(file, quota):
		return Scarce
	}
	return Enough
}

// admit refuses what would grow while little is left. look says by how much it does.
func (s *space) admit(ctx context.Context, most int64, look func(context.Context) (growth, error)) error {
	left := Level(s.left.Load())
	if left == Enough {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, paceTimeout)
	defer cancel()
	if err := s.slow.WaitN(soon, int(min(max(most, leastBytes), slowBytesAtOnce))); err != nil {
		return errFull
	}
	g, err := look(ctx)
	if err != nil {
		return err
	}
	if g.bytes <= 0 || g.tidy && left == Scarce {
		return nil
	}
	return errFull
}

// followSpace asks the store how much of it is used, as any of its tenants: a store that does not answer takes no write either.
func (g *gate) followSpace() {
	tick := time.NewTicker(spaceInterval)
	defer tick.Stop()
	for {
		select {
		case <-g.life.Done():
			return
		case <-tick.C:
		}
		g.lookAtSpace()
	}
}

func (g *gate) lookAtSpace() {
	if t := g.anyTenant(); t != nil {
		if answer, err := t.askStore(); err == nil {
			g.space.note(levelOf(answer.DbSizeInUse, answer.DbSize, answer.DbSizeQuota), g.log)
		}
	}
}

func (s *space) note(now Level, log *slog.Logger) {
	if before := Level(s.left.Swap(int32(now))); before < now {
		log.Error("the data store is nearly full, and what would grow is refused", "left", now)
	} else if now < before && now == Enough {
		log.Info("the data store has space again")
	}
}

func (g *gate) anyTenant() *tenant {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, t := range g.tenants {
		return t
	}
	return nil
}

// askStore asks for the state of the whole store, which is not for tenants.
func (t *tenant) askStore() (*pb.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(t.life, paceTimeout)
	defer cancel()
	answer := &pb.StatusResponse{}
	return answer, t.conn.Invoke(ctx, pb.Maintenance_Status_FullMethodName, &pb.StatusRequest{}, answer)
}
