package storegate

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// services are what the gate offers of etcd: what API servers ask for, and nothing beside it. All else is denied: members,
// users, snapshots, alarms, and Compact, because history is the store's and not a tenant's.
func services() []grpc.ServiceDesc {
	return []grpc.ServiceDesc{
		{
			ServiceName: pb.KV_ServiceDesc.ServiceName, HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{
				unary("Range", (*tenant).read), unary("Put", (*tenant).put),
				unary("DeleteRange", (*tenant).remove), unary("Txn", (*tenant).txn),
			},
			Streams: []grpc.StreamDesc{{StreamName: "RangeStream", Handler: stream((*tenant).readStream), ServerStreams: true}},
		},
		{
			ServiceName: pb.Watch_ServiceDesc.ServiceName, HandlerType: (*any)(nil),
			Streams: []grpc.StreamDesc{{StreamName: "Watch", Handler: stream((*tenant).watch), ServerStreams: true, ClientStreams: true}},
		},
		{
			ServiceName: pb.Lease_ServiceDesc.ServiceName, HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{
				unary("LeaseGrant", (*tenant).grantLease), unary("LeaseRevoke", (*tenant).revokeLease),
				unary("LeaseTimeToLive", (*tenant).lookAtLease),
			},
			Streams: []grpc.StreamDesc{{StreamName: "LeaseKeepAlive", Handler: stream((*tenant).keepLeases), ServerStreams: true, ClientStreams: true}},
		},
		{
			ServiceName: pb.Maintenance_ServiceDesc.ServiceName, HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{unary("Status", (*tenant).status)},
		},
	}
}

// refuse denies what etcd has and the gate does not offer. Of anything else it says that it is not there, by which clients know
// what their server is too old for.
func refuse(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	for _, known := range []grpc.ServiceDesc{pb.KV_ServiceDesc, pb.Watch_ServiceDesc, pb.Lease_ServiceDesc, pb.Cluster_ServiceDesc, pb.Maintenance_ServiceDesc, pb.Auth_ServiceDesc} {
		for _, m := range known.Methods {
			if method == "/"+known.ServiceName+"/"+m.MethodName {
				return errForeign
			}
		}
		for _, m := range known.Streams {
			if method == "/"+known.ServiceName+"/"+m.StreamName {
				return errForeign
			}
		}
	}
	return status.Errorf(codes.Unimplemented, "store gate: there is no %s", method)
}

// message is a request that can be decoded.
type message[T any] interface {
	*T
	proto.Message
}

// unary has a method answered for the tenant that asks.
func unary[T any, P message[T]](name string, answer func(*tenant, context.Context, P) (any, error)) grpc.MethodDesc {
	return grpc.MethodDesc{
		MethodName: name,
		Handler: func(server any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := P(new(T))
			if err := decode(request); err != nil {
				return nil, err
			}
			t, err := server.(*gate).caller(ctx)
			if err != nil {
				return nil, err
			}
			return answer(t, ctx, request)
		},
	}
}

// stream has a stream answered for the tenant that asks.
func stream(answer func(*tenant, grpc.ServerStream) error) grpc.StreamHandler {
	return func(server any, s grpc.ServerStream) error {
		t, err := server.(*gate).caller(s.Context())
		if err != nil {
			return err
		}
		return answer(t, s)
	}
}

// read lets only so many lists of a tenant be answered at once: their answers are in memory, here and in etcd.
func (t *tenant) read(ctx context.Context, r *pb.RangeRequest) (any, error) {
	if err := t.scope.checkRange(r); err != nil {
		return nil, err
	}
	if len(r.RangeEnd) > 0 {
		if err := t.lists.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer t.lists.Release(1)
	}
	return t.pass(ctx, pb.KV_Range_FullMethodName, r)
}

func (t *tenant) remove(ctx context.Context, r *pb.DeleteRangeRequest) (any, error) {
	if err := t.scope.checkDelete(r); err != nil {
		return nil, err
	}
	if err := t.pace(ctx, 0); err != nil {
		return nil, err
	}
	return t.pass(ctx, pb.KV_DeleteRange_FullMethodName, r)
}

// status tells the version, by which API servers know what etcd can do, and the tenant's own size. How large and how full
// the store is that others share is not for tenants.
func (t *tenant) status(ctx context.Context, r *pb.StatusRequest) (any, error) {
	answer := &pb.StatusResponse{}
	if err := t.conn.Invoke(outgoing(ctx), pb.Maintenance_Status_FullMethodName, r, answer); err != nil {
		return nil, err
	}
	held, _ := t.count.held()
	return &pb.StatusResponse{Header: answer.Header, Version: answer.Version, StorageVersion: answer.StorageVersion, DbSize: held}, nil
}
