package storegate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// measuringAtOnce is how many tenants are measured at the same time: it reads all that they hold.
	measuringAtOnce = 2
	// measureTimeout is within the time for which etcd keeps the revision that is read.
	measureTimeout = 3 * time.Minute
	// measureRetry is the time after a measurement that failed.
	measureRetry = time.Second
	// measureInterval is the time between two measurements of what is known already, at least. Deletions are watched in
	// between, and nothing is known by which the count could go wrong.
	measureInterval = 30 * time.Minute
	// doubtInterval is the same where a write failed of which it is not known whether it was done.
	doubtInterval = time.Minute
	// measureRest is how much longer than a measurement the rest after it is: however much a tenant holds, and whatever
	// it does, it is measured for no more than a hundredth of the time.
	measureRest = 99
	// countPatience is how long a request waits for the first measurement.
	countPatience = 10 * time.Second
)

var (
	errUncounted = status.Error(codes.Unavailable, "store gate: what the organization's control planes hold is still being counted, and its quota of store allows nothing unseen; try again")
	errGone      = status.Error(codes.Unavailable, "store gate: this control plane is gone")
)

// startCounting begins to count, with a quota or without: KQueen tells what a control plane holds in either case.
func (t *tenant) startCounting() { go t.keepCount() }

// counted waits until it is known what the tenant holds.
func (t *tenant) counted(ctx context.Context) error {
	patience := time.NewTimer(countPatience)
	defer patience.Stop()
	select {
	case <-t.count.first:
		return nil
	case <-patience.C:
		return errUncounted
	case <-t.life.Done():
		return errGone
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// keepCount measures, and watches what goes: some keys go by themselves, with their lease. What comes is counted where it is
// written.
func (t *tenant) keepCount() {
	for t.life.Err() == nil {
		began := time.Now()
		revision, err := t.measure()
		if err == nil {
			rest := measureRest * time.Since(began)
			err = t.watchDeletions(revision+1, max(doubtInterval, rest), max(measureInterval, rest))
		}
		if err != nil && t.life.Err() == nil {
			t.log.Warn("what a control plane holds is measured again", "error", err)
			select {
			case <-time.After(measureRetry):
			case <-t.life.Done():
			}
		}
	}
}

// measure counts as of a revision, which it returns.
func (t *tenant) measure() (int64, error) {
	select {
	case t.measuring <- struct{}{}:
		defer func() { <-t.measuring }()
	case <-t.life.Done():
		return 0, t.life.Err()
	}
	ctx, cancel := context.WithTimeout(t.life, measureTimeout)
	defer cancel()
	t.count.begin()
	bytes, revision, err := t.readAll(ctx)
	t.count.settle(bytes, revision, err)
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", t.scope.prefix, err)
	}
	return revision, nil
}

// readAll reads the whole keyspace as of one revision, in pieces of about a megabyte.
func (t *tenant) readAll(ctx context.Context) (bytes, revision int64, err error) {
	pieces, err := pb.NewKVClient(t.conn).RangeStream(ctx, &pb.RangeRequest{Key: []byte(t.scope.prefix), RangeEnd: []byte(t.scope.end)})
	if err != nil {
		return 0, 0, err
	}
	for {
		piece, err := pieces.Recv()
		if errors.Is(err, io.EOF) && revision != 0 {
			return bytes, revision, nil
		}
		if err != nil {
			return 0, 0, err
		}
		for _, kv := range piece.RangeResponse.GetKvs() {
			bytes += weightOf(kv)
		}
		// Only the last piece has it.
		revision = max(revision, piece.RangeResponse.GetHeader().GetRevision())
	}
}

func weightOf(kv *mvccpb.KeyValue) int64 { return int64(len(kv.Key) + len(kv.Value)) }

// watchDeletions counts what goes, from a revision on, until the next measurement is due: at the latest after latest, and
// after soonest when there is a doubt.
func (t *tenant) watchDeletions(from int64, soonest, latest time.Duration) error {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.life, rpctypes.MetadataRequireLeaderKey, rpctypes.MetadataHasLeader), latest)
	defer cancel()
	go t.cancelWhenDoubtful(ctx, soonest, cancel)
	stream, err := pb.NewWatchClient(t.conn).Watch(ctx)
	if err != nil {
		return err
	}
	err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key: []byte(t.scope.prefix), RangeEnd: []byte(t.scope.end), StartRevision: from, PrevKv: true, Fragment: true,
		Filters: []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT},
	}}})
	for err == nil {
		var seen *pb.WatchResponse
		if seen, err = stream.Recv(); err == nil {
			err = t.discount(seen)
		}
	}
	if ctx.Err() != nil {
		return nil // it was ended, because a measurement is due
	}
	return fmt.Errorf("watch what goes from %s: %w", t.scope.prefix, err)
}

var errTooOld = errors.New("what was deleted is not known any more")

func (t *tenant) discount(seen *pb.WatchResponse) error {
	if seen.Canceled {
		return fmt.Errorf("%w: %s", errTooOld, seen.CancelReason)
	}
	for _, event := range seen.Events {
		if event.PrevKv == nil || event.Kv == nil {
			return errTooOld
		}
		t.count.add(delta{revision: event.Kv.ModRevision, bytes: -weightOf(event.PrevKv)})
	}
	return nil
}

// cancelWhenDoubtful ends a watch of deletions when a doubt is to be cleared up.
func (t *tenant) cancelWhenDoubtful(ctx context.Context, soonest time.Duration, cancel context.CancelFunc) {
	rest := time.NewTimer(soonest)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return
	}
	select {
	case <-t.count.doubtful:
		cancel()
	case <-ctx.Done():
	}
}
