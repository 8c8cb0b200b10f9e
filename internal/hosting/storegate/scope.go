package storegate

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// scope is what belongs to one tenant: the keys that begin with its prefix, and the leases whose numbers carry its tag.
type scope struct {
	prefix, end string
	tag         int64
}

func newScope(k datastore.Keyspace) scope {
	return scope{prefix: k.Prefix(), end: clientv3.GetPrefixRangeEnd(k.Prefix()), tag: leaseTag(k.User())}
}

// maxNesting is how deep transactions may stand in transactions. API servers nest none.
const maxNesting = 3

// Refusals. A lease of another tenant is one that does not exist: its number would tell that there is one.
var (
	errForeign   = rpctypes.ErrGRPCPermissionDenied
	errNoLease   = rpctypes.ErrGRPCLeaseNotFound
	errOperation = status.Error(codes.InvalidArgument, "store gate: the transaction has an operation that is none")
	errNesting   = status.Errorf(codes.InvalidArgument, "store gate: transactions are nested more than %d deep", maxNesting)
)

// holds says whether a key, or all keys from it up to end, are the tenant's. As in etcd, an empty end is no range, and one
// of a single zero has none.
func (s scope) holds(key, end []byte) bool {
	if !strings.HasPrefix(string(key), s.prefix) {
		return false
	}
	return len(end) == 0 || string(end) > s.prefix && string(end) <= s.end
}

// A lease is told to be a tenant's by its number, so that no restart of the gate forgets whose it is: the upper half is the
// tenant's tag, the lower one is chosen by the gate at random.
const leaseBits = 32

// leaseTag is the upper half of the numbers of a user's leases. They are positive.
func leaseTag(user string) int64 {
	sum := sha256.Sum256([]byte(user))
	return int64(binary.BigEndian.Uint32(sum[:])>>1) << leaseBits
}

func (s scope) ownsLease(id int64) bool { return id > 0 && id>>leaseBits<<leaseBits == s.tag }

// newLease is a number for a lease of the tenant.
func (s scope) newLease() int64 {
	var random [4]byte
	_, _ = rand.Read(random[:]) // does not fail
	return s.tag | max(int64(binary.BigEndian.Uint32(random[:])), 1)
}

func (s scope) checkRange(r *pb.RangeRequest) error {
	if !s.holds(r.Key, r.RangeEnd) {
		return errForeign
	}
	return nil
}

// checkPut refuses foreign keys, and foreign leases too: a lease cannot be revoked by its tenant while a key hangs on it
// that is not the tenant's.
func (s scope) checkPut(r *pb.PutRequest) error {
	if !s.holds(r.Key, nil) {
		return errForeign
	}
	if r.Lease != 0 && !s.ownsLease(r.Lease) {
		return errNoLease
	}
	return nil
}

func (s scope) checkDelete(r *pb.DeleteRangeRequest) error {
	if !s.holds(r.Key, r.RangeEnd) {
		return errForeign
	}
	return nil
}

// checkTxn judges everything that a transaction compares, reads and writes in any of its branches.
func (s scope) checkTxn(r *pb.TxnRequest) error { return s.checkNested(r, 0) }

func (s scope) checkNested(r *pb.TxnRequest, depth int) error {
	if depth > maxNesting {
		return errNesting
	}
	for _, c := range r.Compare {
		if !s.holds(c.Key, c.RangeEnd) {
			return errForeign
		}
	}
	for _, branch := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range branch {
			if err := s.checkOperation(op, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s scope) checkOperation(op *pb.RequestOp, depth int) error {
	switch o := op.Request.(type) {
	case *pb.RequestOp_RequestRange:
		return s.checkRange(o.RequestRange)
	case *pb.RequestOp_RequestPut:
		return s.checkPut(o.RequestPut)
	case *pb.RequestOp_RequestDeleteRange:
		return s.checkDelete(o.RequestDeleteRange)
	case *pb.RequestOp_RequestTxn:
		return s.checkNested(o.RequestTxn, depth+1)
	}
	return errOperation
}

// checkWatch judges a message on a stream of watches. One that asks for nothing that there is goes through: etcd passes over it.
func (s scope) checkWatch(r *pb.WatchRequest) error {
	if create, ok := r.RequestUnion.(*pb.WatchRequest_CreateRequest); ok && !s.holds(create.CreateRequest.Key, create.CreateRequest.RangeEnd) {
		return errForeign
	}
	return nil
}
