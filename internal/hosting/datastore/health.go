package datastore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/Masterminds/semver/v3"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Health is the state of the whole etcd: of several members the worst value counts.
type Health struct {
	Version      string   // of the oldest member that answered
	DBBytes      int64    // largest database file
	DBInUseBytes int64    // largest part of a database file that holds data; the rest is free for new data
	QuotaBytes   int64    // smallest size at which a member stops all writes, of all tenants
	Members      int      // of the cluster, answering or not
	Silent       []string // endpoints that did not answer, sorted
	Alarms       []string // "NOSPACE on member 8e9e05c52164694d", sorted; any of them means that writes are refused
}

// Health asks every endpoint and the cluster as a whole. It fails when no endpoint answers or the cluster has no quorum.
func (s *Store) Health(ctx context.Context) (Health, error) {
	var h Health
	var silent error
	var oldest *semver.Version
	for _, m := range s.ask(ctx) {
		if m.err != nil {
			h.Silent = append(h.Silent, m.endpoint)
			silent = errors.Join(silent, fmt.Errorf("ask etcd %s for its status: %w", m.endpoint, m.err))
			continue
		}
		v, err := semver.StrictNewVersion(m.status.Version)
		if err != nil {
			return Health{}, &VersionError{Endpoint: m.endpoint, Found: m.status.Version, Wanted: Floor}
		}
		if oldest == nil || v.LessThan(oldest) {
			oldest, h.Version = v, m.status.Version
		}
		h.DBBytes = max(h.DBBytes, m.status.DbSize)
		h.DBInUseBytes = max(h.DBInUseBytes, m.status.DbSizeInUse)
		if h.QuotaBytes == 0 || m.status.DbSizeQuota < h.QuotaBytes {
			h.QuotaBytes = m.status.DbSizeQuota
		}
	}
	if oldest == nil {
		return Health{}, silent
	}
	slices.Sort(h.Silent)
	if err := s.addCluster(ctx, &h); err != nil {
		return Health{}, err
	}
	return h, nil
}

func (s *Store) addCluster(ctx context.Context, h *Health) error {
	members, err := call(ctx, s, "list etcd members", func(ctx context.Context) (*clientv3.MemberListResponse, error) {
		return s.client.MemberList(ctx)
	})
	if err != nil {
		return err
	}
	alarms, err := call(ctx, s, "list etcd alarms", s.client.AlarmList)
	if err != nil {
		return err
	}
	h.Members = len(members.Members)
	for _, a := range alarms.Alarms {
		h.Alarms = append(h.Alarms, fmt.Sprintf("%s on member %x", a.Alarm, a.MemberID))
	}
	slices.Sort(h.Alarms)
	return nil
}

// ClusterID is by what the members of this etcd know each other, in hexadecimal, as etcd's own tools write it.
func (s *Store) ClusterID(ctx context.Context) (string, error) {
	members, err := call(ctx, s, "ask etcd which cluster it is", func(ctx context.Context) (*clientv3.MemberListResponse, error) {
		return s.client.MemberList(ctx)
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", members.Header.ClusterId), nil
}

// answer is what one endpoint said of itself; either status or err is set.
type answer struct {
	endpoint string
	status   *clientv3.StatusResponse
	err      error
}

// ask asks all endpoints at once, so that a dead one costs one deadline and not one each. The answers are in the order of the configuration.
func (s *Store) ask(ctx context.Context) []answer {
	answers := make([]answer, len(s.endpoints))
	var wg sync.WaitGroup
	for i, e := range s.endpoints {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, s.timeout)
			defer cancel()
			status, err := s.client.Status(ctx, e)
			answers[i] = answer{endpoint: e, status: status, err: err}
		})
	}
	wg.Wait()
	return answers
}
