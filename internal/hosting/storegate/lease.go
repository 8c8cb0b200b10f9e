package storegate

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	errLeaseNumber = status.Error(codes.InvalidArgument, "store gate: the number of a lease is chosen by the gate: ask for 0")
	errLeaseLife   = status.Errorf(codes.InvalidArgument, "store gate: a lease lasts no longer than %d seconds", longestLease)
)

// grantLease chooses the number, by which the lease is the tenant's.
func (t *tenant) grantLease(ctx context.Context, r *pb.LeaseGrantRequest) (any, error) {
	switch {
	case r.ID != 0:
		return nil, errLeaseNumber
	case r.TTL > longestLease:
		return nil, errLeaseLife
	}
	if err := t.paceLease(ctx); err != nil {
		return nil, err
	}
	r.ID = t.scope.newLease()
	return t.pass(ctx, pb.Lease_LeaseGrant_FullMethodName, r)
}

func (t *tenant) revokeLease(ctx context.Context, r *pb.LeaseRevokeRequest) (any, error) {
	if !t.scope.ownsLease(r.ID) {
		return nil, errNoLease
	}
	return t.pass(ctx, pb.Lease_LeaseRevoke_FullMethodName, r)
}

func (t *tenant) lookAtLease(ctx context.Context, r *pb.LeaseTimeToLiveRequest) (any, error) {
	if !t.scope.ownsLease(r.ID) {
		return nil, errNoLease
	}
	return t.pass(ctx, pb.Lease_LeaseTimeToLive_FullMethodName, r)
}

// keepLeases passes on a stream of renewals. One of a foreign lease ends it.
func (t *tenant) keepLeases(down grpc.ServerStream) error {
	return t.both(down, pb.Lease_LeaseKeepAlive_FullMethodName, func() (any, error) {
		r := &pb.LeaseKeepAliveRequest{}
		if err := down.RecvMsg(r); err != nil {
			return nil, err
		}
		if !t.scope.ownsLease(r.ID) {
			return nil, errNoLease
		}
		return r, t.paceLease(down.Context())
	})
}
