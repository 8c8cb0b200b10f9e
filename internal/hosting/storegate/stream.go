package storegate

import (
	"context"
	"errors"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// readStream passes on one request and the pieces of its answer.
func (t *tenant) readStream(down grpc.ServerStream) error {
	r := &pb.RangeRequest{}
	if err := down.RecvMsg(r); err != nil {
		return err
	}
	if err := t.scope.checkRange(r); err != nil {
		return err
	}
	if err := t.lists.Acquire(down.Context(), 1); err != nil {
		return err
	}
	defer t.lists.Release(1)
	ctx, cancel := context.WithCancel(outgoing(down.Context()))
	defer cancel()
	up, err := t.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, pb.KV_RangeStream_FullMethodName)
	if err != nil {
		return err
	}
	if err := up.SendMsg(r); err != nil {
		return err
	}
	if err := up.CloseSend(); err != nil {
		return err
	}
	return answers(up, down)
}

// watch passes on a stream of watches. One that asks for foreign keys ends all of them: an answer of the gate's own would
// have to keep its place among those of etcd.
func (t *tenant) watch(down grpc.ServerStream) error {
	return t.both(down, pb.Watch_Watch_FullMethodName, func() (any, error) {
		r := &pb.WatchRequest{}
		if err := down.RecvMsg(r); err != nil {
			return nil, err
		}
		return r, t.scope.checkWatch(r)
	})
}

// both passes on a stream of requests, each of which next has received and judged, and of answers.
func (t *tenant) both(down grpc.ServerStream, method string, next func() (any, error)) error {
	ctx, cancel := context.WithCancelCause(outgoing(down.Context()))
	defer cancel(nil)
	up, err := t.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	// It ends when the client has nothing more to ask, or with this stream.
	go func() {
		for {
			request, err := next()
			if errors.Is(err, io.EOF) {
				_ = up.CloseSend()
				return
			}
			if err != nil {
				cancel(err)
				return
			}
			if up.SendMsg(request) != nil {
				return // whatever was wrong, receiving says it
			}
		}
	}()
	err = answers(up, down)
	if refused := context.Cause(ctx); refused != nil && down.Context().Err() == nil {
		return refused
	}
	return err
}

// answers passes on what etcd answers, as it is.
func answers(up grpc.ClientStream, down grpc.ServerStream) error {
	for {
		answer := &frame{}
		err := up.RecvMsg(answer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := down.SendMsg(answer); err != nil {
			return err
		}
	}
}
