package storegate

import (
	"errors"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// single is a put as a transaction, so that both are weighed alike.
func single(p *pb.PutRequest) *pb.TxnRequest {
	return &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: p}}}}
}

// puts returns the puts of all branches of a transaction.
func puts(r *pb.TxnRequest) []*pb.PutRequest {
	var all []*pb.PutRequest
	for _, branch := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range branch {
			switch o := op.Request.(type) {
			case *pb.RequestOp_RequestPut:
				all = append(all, o.RequestPut)
			case *pb.RequestOp_RequestTxn:
				all = append(all, puts(o.RequestTxn)...)
			}
		}
	}
	return all
}

// weigh is by how many bytes a transaction lets grow at most, of its branches the worse one, when of says it of a put.
func weigh(r *pb.TxnRequest, of func(*pb.PutRequest) int64) int64 {
	branch := func(ops []*pb.RequestOp) (sum int64) {
		for _, op := range ops {
			switch o := op.Request.(type) {
			case *pb.RequestOp_RequestPut:
				sum += of(o.RequestPut)
			case *pb.RequestOp_RequestTxn:
				sum += weigh(o.RequestTxn, of)
			}
		}
		return sum
	}
	return max(branch(r.Success), branch(r.Failure))
}

// size is what a put adds where there is no such key yet.
func size(p *pb.PutRequest) int64 {
	if p.IgnoreValue {
		return 0 // the key is there, and keeps its value
	}
	return int64(len(p.Key) + len(p.Value))
}

// change is by how much a put makes more, or less, of what was there before; nil for nothing.
func change(p *pb.PutRequest, before *mvccpb.KeyValue) int64 {
	if p.IgnoreValue || before == nil {
		return size(p)
	}
	return int64(len(p.Value) - len(before.Value))
}

var errAnswer = errors.New("the answer is not one to the transaction")

// account returns by how much a transaction's puts have changed what the tenant holds, and takes out of the answer what the
// gate has asked for beside the tenant: asked has those puts of which the tenant wanted the value before.
func account(r *pb.TxnRequest, answer *pb.TxnResponse, asked map[*pb.PutRequest]bool) (int64, error) {
	if answer == nil {
		return 0, errAnswer
	}
	ops := r.Failure
	if answer.Succeeded {
		ops = r.Success
	}
	if len(ops) != len(answer.Responses) {
		return 0, errAnswer
	}
	var sum int64
	for i, op := range ops {
		switch o := op.Request.(type) {
		case *pb.RequestOp_RequestPut:
			put := answer.Responses[i].GetResponsePut()
			if put == nil {
				return 0, errAnswer
			}
			sum += change(o.RequestPut, put.PrevKv)
			if !asked[o.RequestPut] {
				put.PrevKv = nil
			}
		case *pb.RequestOp_RequestTxn:
			inner, err := account(o.RequestTxn, answer.Responses[i].GetResponseTxn(), asked)
			if err != nil {
				return 0, err
			}
			sum += inner
		}
	}
	return sum, nil
}

// growth is what a request would add.
type growth struct {
	// bytes is how many more there would be.
	bytes int64
	// tidy says that no more than a little is added to objects that exist.
	tidy bool
}

const (
	// little is by how much an object may grow above the quota: deleting it begins with a mark on it, and controllers that
	// tidy up write down how far they are.
	little = 4 << 10
	// serversFolder has the records by which API servers know of each other. They end with an API server, and without them
	// the Service "kubernetes" of the cluster leads nowhere.
	serversFolder = "masterleases/"
)

// grows judges a transaction with what was there before, by key. It is pure.
func (s scope) grows(r *pb.TxnRequest, before map[string]*mvccpb.KeyValue) growth {
	g := growth{tidy: true}
	g.bytes = weigh(r, func(p *pb.PutRequest) int64 { return change(p, before[string(p.Key)]) })
	for _, p := range puts(r) {
		is := before[string(p.Key)] != nil || p.IgnoreValue || strings.HasPrefix(string(p.Key), s.prefix+serversFolder)
		if !is || change(p, before[string(p.Key)]) > little {
			g.tidy = false
		}
	}
	return g
}

// reserve is how far above a quota objects that exist may grow a little.
func reserve(quota int64) int64 { return max(quota/20, 1<<20) }

// allowed says whether a tenant may let its data grow. What does not grow is always allowed: a tenant that holds too much
// must be able to delete. lowest is the least that was held since it was too much: where a quota was made much smaller than
// what is there, the reserve begins there. It is pure.
func allowed(quota, lowest, held int64, g growth) bool {
	switch {
	case g.bytes <= 0:
		return true
	case g.tidy:
		return held+g.bytes <= max(quota, lowest)+reserve(quota)
	}
	return held+g.bytes <= quota
}
