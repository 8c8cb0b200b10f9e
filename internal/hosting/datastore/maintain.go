package datastore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Maintenance is what was done for an etcd.
type Maintenance struct {
	// Shrunk are the endpoints of the members whose file was made smaller, Freed by how many bytes together.
	Shrunk []string
	Freed  int64
	// Lifted are the members, as numbers in hexadecimal, that had stopped writes because their file was full and take them
	// again.
	Lifted []string
}

const (
	// maintainTimeout bounds the shrinking of one member's file: etcd writes it anew, some hundred megabytes a second.
	maintainTimeout = 2 * time.Minute
	// leastFree is what is not worth the pause.
	leastFree = 32 << 20
	// shortPause is how much data etcd copies within a second or two, in which it answers no request.
	shortPause = 256 << 20
	// MaintainInterval is the least time between two shrinkings of a store that takes writes: of a store in which much
	// changes, what is free is soon used again.
	MaintainInterval = time.Hour
)

// Maintain makes the files of members smaller where that is worth the pause, one member after the other, and lets a store
// that is full take writes again where there is space now. A full store is compacted first, to its last revision: what was
// deleted takes no space any longer, and lists that are read page by page begin anew. It does nothing when all is well.
func (s *Store) Maintain(ctx context.Context) (Maintenance, error) {
	var done Maintenance
	alarms, err := call(ctx, s, "list etcd alarms", s.client.AlarmList)
	if err != nil {
		return done, err
	}
	full := map[uint64]*clientv3.AlarmMember{}
	for _, a := range alarms.Alarms {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			full[a.MemberID] = (*clientv3.AlarmMember)(a)
		}
	}
	if len(full) > 0 {
		if err := s.compact(ctx); err != nil {
			return done, err
		}
	}
	for _, m := range s.ask(ctx) {
		if m.err != nil {
			continue // Health names it
		}
		if err := s.maintain(ctx, m, full[m.status.Header.MemberId], &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// maintain looks after one member. alarm is nil when it is not full.
func (s *Store) maintain(ctx context.Context, m answer, alarm *clientv3.AlarmMember, done *Maintenance) error {
	size := sizes{file: m.status.DbSize, used: m.status.DbSizeInUse, quota: m.status.DbSizeQuota}
	if size.worthShrinking(alarm != nil, time.Since(s.lastShrunk())) {
		s.noteShrunk()
		after, err := s.shrink(ctx, m.endpoint)
		if err != nil {
			return err
		}
		done.Shrunk, done.Freed = append(done.Shrunk, m.endpoint), done.Freed+size.file-after.file
		size = after
	}
	if alarm == nil || !size.roomy() {
		return nil
	}
	_, err := call(ctx, s, "lift the alarm of a full etcd", func(ctx context.Context) (*clientv3.AlarmResponse, error) {
		return s.client.AlarmDisarm(ctx, alarm)
	})
	if err == nil {
		done.Lifted = append(done.Lifted, fmt.Sprintf("%x", alarm.MemberID))
	}
	return err
}

// sizes are those of one member, in bytes.
type sizes struct{ file, used, quota int64 }

// worthShrinking says whether a file is to be written anew. While that goes on the member answers nothing, for as long as
// it takes to copy what is used: a pause of a second is worth half of a file, one of many seconds only saves a store
// that is about to be full. A store that is full has nothing to lose. It is pure.
func (z sizes) worthShrinking(full bool, since time.Duration) bool {
	free := z.file - z.used
	switch {
	case full:
		return free > 0
	case since < MaintainInterval || free < leastFree:
		return false
	case NearlyFull(z.file, z.quota): // the store gate lets nothing grow any more
		return free >= z.quota/20
	case z.used <= shortPause:
		return free >= z.file/2
	}
	return z.file >= z.quota/10*8 && free >= z.file/4
}

// roomy says whether a member that was full has enough space not to be so again at once. It is pure.
func (z sizes) roomy() bool { return !NearlyFull(z.file, z.quota) }

// NearlyFull says whether so many bytes, of a file or in use, are nearly all that etcd may hold. From there on the store gate
// lets nothing grow, and a file is written anew for little. It is pure.
func NearlyFull(bytes, quota int64) bool { return bytes >= quota/100*95 }

// compact forgets all but the last revision.
func (s *Store) compact(ctx context.Context) error {
	now, err := SnapshotsOf(s).Revision(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, maintainTimeout)
	defer cancel()
	// Physical: only what is really gone can be given back.
	_, err = s.client.Compact(ctx, now, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact a full etcd: %w", err)
	}
	return nil
}

func (s *Store) shrink(ctx context.Context, endpoint string) (sizes, error) {
	ctx, cancel := context.WithTimeout(ctx, maintainTimeout)
	defer cancel()
	if _, err := s.client.Defragment(ctx, endpoint); err != nil {
		return sizes{}, fmt.Errorf("shrink the file of etcd %s: %w", endpoint, err)
	}
	status, err := s.client.Status(ctx, endpoint)
	if err != nil {
		return sizes{}, fmt.Errorf("ask etcd %s for its size: %w", endpoint, err)
	}
	return sizes{status.DbSize, status.DbSizeInUse, status.DbSizeQuota}, nil
}

func (s *Store) lastShrunk() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shrunk
}

func (s *Store) noteShrunk() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shrunk = time.Now()
}
