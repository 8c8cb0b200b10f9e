package storegate

import (
	"bytes"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const own = "/kqueen/aaaaaaaa-0001/"

func testScope(t testing.TB) scope {
	t.Helper()
	return newScope(keyspace(t, "aaaaaaaa-0001"))
}

func TestHolds(t *testing.T) {
	s := testScope(t)
	for name, tc := range map[string]struct {
		key, end string
		want     bool
	}{
		"a key":               {own + "x", "", true},
		"the prefix itself":   {own, "", true},
		"the whole keyspace":  {own, "/kqueen/aaaaaaaa-00010", true},
		"a part of it":        {own + "a", own + "b", true},
		"an empty part":       {own + "b", own + "a", true},
		"nothing":             {"", "", false},
		"without the slash":   {own[:len(own)-1], "", false},
		"one past the end":    {"/kqueen/aaaaaaaa-00010", "", false},
		"another's":           {"/kqueen/aaaaaaaa-0002/x", "", false},
		"one that is longer":  {"/kqueen/aaaaaaaa-00011/x", "", false},
		"the admin plane's":   {"/kqueen-admin/x", "", false},
		"all":                 {"\x00", "\x00", false},
		"from its own on":     {own, "\x00", false},
		"to one past the end": {own, "/kqueen/aaaaaaaa-00010\x00", false},
		"to the next":         {own, "/kqueen/aaaaaaaa-0002/", false},
		"to the last":         {own, "\xff", false},
		"to before the first": {own + "x", "/kqueen/", false},
		"from before":         {"/kqueen/", own + "x", false},
	} {
		if got := s.holds([]byte(tc.key), []byte(tc.end)); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

func TestLeaseNumbers(t *testing.T) {
	a, b := testScope(t), newScope(keyspace(t, "aaaaaaaa-0002"))
	for range 1000 {
		id := a.newLease()
		if id <= 0 || !a.ownsLease(id) || b.ownsLease(id) {
			t.Fatalf("the lease %x: its tenant owns it %t, another one %t", id, a.ownsLease(id), b.ownsLease(id))
		}
	}
	for _, id := range []int64{0, 1, -1, -a.tag, a.tag - 1, a.tag + 1<<leaseBits} {
		if a.ownsLease(id) {
			t.Errorf("the lease %x is taken for its own", id)
		}
	}
}

// opsOf is one operation of each kind, on a key.
func opsOf(key string) map[string]*pb.RequestOp {
	nested := &pb.TxnRequest{Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key)}}}}}
	return map[string]*pb.RequestOp{
		"range":   {Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(key)}}},
		"put":     {Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key)}}},
		"delete":  {Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)}}},
		"nested":  {Request: &pb.RequestOp_RequestTxn{RequestTxn: nested}},
		"compare": {Request: &pb.RequestOp_RequestTxn{RequestTxn: &pb.TxnRequest{Compare: []*pb.Compare{{Key: []byte(key)}}}}},
	}
}

func TestCheckTxn(t *testing.T) {
	s := testScope(t)
	for kind, foreign := range opsOf("/kqueen/aaaaaaaa-0002/x") {
		mine := opsOf(own + "x")[kind]
		for branch, r := range map[string]*pb.TxnRequest{"success": {Success: []*pb.RequestOp{mine, foreign}}, "failure": {Failure: []*pb.RequestOp{mine, foreign}}} {
			if s.checkTxn(r) == nil {
				t.Errorf("%s of a foreign key in %s goes through", kind, branch)
			}
		}
		if err := s.checkTxn(&pb.TxnRequest{Success: []*pb.RequestOp{mine}, Failure: []*pb.RequestOp{mine}}); err != nil {
			t.Errorf("%s of its own key: %v", kind, err)
		}
	}
	deep := &pb.TxnRequest{}
	for range maxNesting + 1 {
		deep = &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestTxn{RequestTxn: deep}}}}
	}
	for name, r := range map[string]*pb.TxnRequest{
		"a foreign comparison":           {Compare: []*pb.Compare{{Key: []byte("/kqueen-admin/x")}}},
		"a comparison of a range":        {Compare: []*pb.Compare{{Key: []byte(own), RangeEnd: []byte{0}}}},
		"an operation that is none":      {Success: []*pb.RequestOp{{}}},
		"transactions too deep":          deep,
		"a foreign lease":                single(&pb.PutRequest{Key: []byte(own + "x"), Lease: 7}),
		"a deletion of all that follows": {Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(own), RangeEnd: []byte{0}}}}}},
	} {
		if s.checkTxn(r) == nil {
			t.Errorf("%s goes through", name)
		}
	}
	if err := s.checkTxn(single(&pb.PutRequest{Key: []byte(own + "x"), Lease: s.newLease()})); err != nil {
		t.Errorf("its own lease: %v", err)
	}
}

// FuzzHolds asks etcd's own question: which keys a range has.
func FuzzHolds(f *testing.F) {
	for _, seed := range []string{"", "\x00", own, own + "x", "/kqueen/aaaaaaaa-00010", "/kqueen/", "\xff"} {
		f.Add([]byte(own), []byte(seed), []byte(seed+"y"))
		f.Add([]byte(seed), []byte{0}, []byte(own))
	}
	f.Fuzz(func(t *testing.T, key, end, probe []byte) {
		s := testScope(t)
		if !s.holds(key, end) {
			return
		}
		within := bytes.Equal(probe, key)
		if len(end) > 0 {
			all := len(end) == 1 && end[0] == 0
			within = bytes.Compare(probe, key) >= 0 && (all || bytes.Compare(probe, end) < 0)
		}
		if within && !strings.HasPrefix(string(probe), own) {
			t.Errorf("keys from %q to %q are held to be the tenant's, and %q is among them", key, end, probe)
		}
	})
}

// FuzzTxn has any bytes be a transaction: in one that goes through, no key anywhere is foreign, and what is passed on says
// the same once it is encoded anew.
func FuzzTxn(f *testing.F) {
	for _, key := range []string{own + "x", "/kqueen/aaaaaaaa-0002/x"} {
		for _, op := range opsOf(key) {
			data, err := proto.Marshal(&pb.TxnRequest{Compare: []*pb.Compare{{Key: []byte(own)}}, Success: []*pb.RequestOp{op}, Failure: []*pb.RequestOp{op}})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, r := testScope(t), &pb.TxnRequest{}
		if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, r) != nil || s.checkTxn(r) != nil {
			return
		}
		passed, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		arrived := &pb.TxnRequest{}
		if err := proto.Unmarshal(passed, arrived); err != nil {
			t.Fatal(err)
		}
		for _, key := range keysIn(arrived.ProtoReflect()) {
			if !strings.HasPrefix(key, own) {
				t.Errorf("the foreign key %q goes through in %x", key, data)
			}
		}
		if got := weigh(r, size); got < 0 {
			t.Errorf("it weighs %d", got)
		}
	})
}

// keysIn are the values of all fields that are called "key", however deep.
func keysIn(m protoreflect.Message) (keys []string) {
	fields := m.Descriptor().Fields()
	if key := fields.ByName("key"); key != nil {
		keys = append(keys, string(m.Get(key).Bytes()))
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := range v.List().Len() {
				keys = append(keys, keysIn(v.List().Get(i).Message())...)
			}
		default:
			keys = append(keys, keysIn(v.Message())...)
		}
		return true
	})
	return keys
}
