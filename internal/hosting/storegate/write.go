package storegate

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// writeTimeout is longer than any time in which etcd itself gives up a write.
const writeTimeout = 20 * time.Second

func (t *tenant) put(ctx context.Context, r *pb.PutRequest) (any, error) {
	if err := t.scope.checkPut(r); err != nil {
		return nil, err
	}
	as, asked := single(r), r.PrevKv
	r.PrevKv = true // says by how much it has grown
	answer := &pb.PutResponse{}
	err := t.write(ctx, as, pb.KV_Put_FullMethodName, r, answer, func() (delta, error) {
		return delta{answer.GetHeader().GetRevision(), change(r, answer.PrevKv)}, nil
	})
	if !asked {
		answer.PrevKv = nil
	}
	return answer, err
}

func (t *tenant) txn(ctx context.Context, r *pb.TxnRequest) (any, error) {
	if err := t.scope.checkTxn(r); err != nil {
		return nil, err
	}
	writes := puts(r)
	if len(writes) == 0 {
		if err := t.pace(ctx, 0); err != nil {
			return nil, err
		}
		return t.pass(ctx, pb.KV_Txn_FullMethodName, r)
	}
	asked := map[*pb.PutRequest]bool{}
	for _, p := range writes {
		asked[p], p.PrevKv = p.PrevKv, true
	}
	answer := &pb.TxnResponse{}
	err := t.write(ctx, r, pb.KV_Txn_FullMethodName, r, answer, func() (delta, error) {
		bytes, err := account(r, answer, asked)
		return delta{answer.GetHeader().GetRevision(), bytes}, err
	})
	return answer, err
}

// write sends what may grow, when the quota allows it, and counts what has come of it.
func (t *tenant) write(ctx context.Context, as *pb.TxnRequest, method string, request, answer proto.Message, outcome func() (delta, error)) error {
	most := weigh(as, size)
	if err := t.pace(ctx, most); err != nil {
		return err
	}
	place := min(max(most, leastBytes), writingAtOnce)
	if err := t.writing.Acquire(ctx, place); err != nil {
		return err
	}
	defer t.writing.Release(place)
	look := func(ctx context.Context) (growth, error) { return t.look(ctx, as) }
	if err := t.space.admit(ctx, most, look); err != nil {
		return err
	}
	settle, err := t.group.admit(ctx, most, look)
	if err != nil {
		return err
	}
	count := func() {}
	defer func() { settle(count) }()
	// A client that does not wait for the answer does not keep the gate from counting.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := t.conn.Invoke(outgoing(ctx), method, request, answer); err != nil {
		if doubtful(err) {
			count = func() { t.count.doubt(most) }
		}
		return explain(err)
	}
	done, err := outcome()
	if err != nil {
		count = func() { t.count.doubt(most) }
		return status.Errorf(codes.Internal, "store gate: %v", err)
	}
	count = func() { t.count.add(done) }
	return nil
}

// doubtful says whether a write may have been done although it failed.
func doubtful(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.ResourceExhausted, codes.FailedPrecondition,
		codes.OutOfRange, codes.Unimplemented:
		return false
	}
	return true
}

// look asks etcd for what a transaction would overwrite.
func (t *tenant) look(ctx context.Context, as *pb.TxnRequest) (growth, error) {
	before := map[string]*mvccpb.KeyValue{}
	kv := pb.NewKVClient(t.conn)
	for _, p := range puts(as) {
		found, err := kv.Range(outgoing(ctx), &pb.RangeRequest{Key: p.Key})
		if err != nil {
			return growth{}, err
		}
		if len(found.Kvs) > 0 {
			before[string(p.Key)] = found.Kvs[0]
		}
	}
	return t.scope.grows(as, before), nil
}
