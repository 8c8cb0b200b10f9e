package storegate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

func putOf(key string, bytes int) *pb.PutRequest {
	return &pb.PutRequest{Key: []byte(key), Value: make([]byte, bytes)}
}

func op(p *pb.PutRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: p}}
}

func nested(r *pb.TxnRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: r}}
}

func TestWeigh(t *testing.T) {
	get := &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{}}}
	for name, tc := range map[string]struct {
		r    *pb.TxnRequest
		want int64
	}{
		"nothing":         {&pb.TxnRequest{}, 0},
		"a read":          {&pb.TxnRequest{Success: []*pb.RequestOp{get}}, 0},
		"a put":           {single(putOf("k", 9)), 10},
		"two":             {&pb.TxnRequest{Success: []*pb.RequestOp{op(putOf("k", 9)), get, op(putOf("l", 4))}}, 15},
		"the worse":       {&pb.TxnRequest{Success: []*pb.RequestOp{op(putOf("k", 9))}, Failure: []*pb.RequestOp{op(putOf("k", 19))}}, 20},
		"nested ones":     {&pb.TxnRequest{Failure: []*pb.RequestOp{op(putOf("k", 9)), nested(single(putOf("l", 4)))}}, 15},
		"the value stays": {single(&pb.PutRequest{Key: []byte("k"), IgnoreValue: true}), 0},
	} {
		if got := weigh(tc.r, size); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestAccount(t *testing.T) {
	a, b, c := putOf("a", 10), putOf("b", 20), putOf("c", 30)
	r := &pb.TxnRequest{Success: []*pb.RequestOp{op(a), nested(&pb.TxnRequest{Failure: []*pb.RequestOp{op(b)}})}, Failure: []*pb.RequestOp{op(c)}}
	put := func(before *mvccpb.KeyValue) *pb.ResponseOp {
		return &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{PrevKv: before}}}
	}
	inner := func(of *pb.TxnResponse) *pb.ResponseOp {
		return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseTxn{ResponseTxn: of}}
	}
	old := &mvccpb.KeyValue{Key: []byte("a"), Value: make([]byte, 25)}
	for name, tc := range map[string]struct {
		answer *pb.TxnResponse
		want   int64
		bad    bool
	}{
		"both are new":   {&pb.TxnResponse{Succeeded: true, Responses: []*pb.ResponseOp{put(nil), inner(&pb.TxnResponse{Responses: []*pb.ResponseOp{put(nil)}})}}, 11 + 21, false},
		"one shrinks":    {&pb.TxnResponse{Succeeded: true, Responses: []*pb.ResponseOp{put(old), inner(&pb.TxnResponse{Responses: []*pb.ResponseOp{put(nil)}})}}, -15 + 21, false},
		"the other way":  {&pb.TxnResponse{Responses: []*pb.ResponseOp{put(nil)}}, 31, false},
		"nothing nested": {&pb.TxnResponse{Succeeded: true, Responses: []*pb.ResponseOp{put(nil), inner(&pb.TxnResponse{Succeeded: true})}}, 11, false},
		"too few":        {&pb.TxnResponse{Succeeded: true}, 0, true},
		"other kinds":    {&pb.TxnResponse{Responses: []*pb.ResponseOp{inner(&pb.TxnResponse{})}}, 0, true},
		"none":           {nil, 0, true},
	} {
		got, err := account(r, tc.answer, map[*pb.PutRequest]bool{a: true})
		if got != tc.want || (err != nil) != tc.bad {
			t.Errorf("%s: %d, %v, want %d", name, got, err, tc.want)
		}
	}
	asked := &pb.TxnResponse{Succeeded: true, Responses: []*pb.ResponseOp{put(old), inner(&pb.TxnResponse{Responses: []*pb.ResponseOp{put(old)}})}}
	if _, err := account(r, asked, map[*pb.PutRequest]bool{a: true}); err != nil {
		t.Fatal(err)
	}
	if asked.Responses[0].GetResponsePut().PrevKv == nil || asked.Responses[1].GetResponseTxn().Responses[0].GetResponsePut().PrevKv != nil {
		t.Error("the tenant does not get the former values that it has asked for, and no others")
	}
}

func TestAllowed(t *testing.T) {
	const quota = 10 << 20 // of which the reserve is 1 MiB
	for name, tc := range map[string]struct {
		lowest, held int64
		g            growth
		want         bool
	}{
		"there is space":            {0, 0, growth{bytes: quota}, true},
		"one byte too much":         {0, 1, growth{bytes: quota}, false},
		"nothing more":              {0, 2 * quota, growth{}, true},
		"less":                      {0, 2 * quota, growth{bytes: -1}, true},
		"a little for what exists":  {0, quota, growth{bytes: little, tidy: true}, true},
		"a little, to the end":      {quota + 1, quota + 1<<20 - little + 1, growth{bytes: little, tidy: true}, true},
		"a little, and no more":     {quota + 1, quota + 1<<20 - little + 2, growth{bytes: little, tidy: true}, false},
		"a little for what is new":  {0, quota, growth{bytes: 1}, false},
		"less, beyond the reserve":  {0, quota + 2<<20, growth{bytes: -1, tidy: true}, true},
		"more than there ever was":  {0, 0, growth{bytes: 1 << 60}, false},
		"a little of a large quota": {0, 0, growth{bytes: 1, tidy: true}, true},
		"the quota was made small":  {100 * quota, 100 * quota, growth{bytes: little, tidy: true}, true},
		"and something new":         {100 * quota, 100 * quota, growth{bytes: 1}, false},
		"and much was deleted":      {50 * quota, 60 * quota, growth{bytes: little, tidy: true}, false},
	} {
		if got := allowed(quota, tc.lowest, tc.held, tc.g); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	if reserve(1<<30) != 1<<30/20 {
		t.Errorf("of a gigabyte %d are reserved, want a twentieth", reserve(1<<30))
	}
}

func TestGrows(t *testing.T) {
	s := testScope(t)
	before := map[string]*mvccpb.KeyValue{own + "old": {Key: []byte(own + "old"), Value: make([]byte, 1000)}}
	key := int64(len(own))
	for name, tc := range map[string]struct {
		r    *pb.TxnRequest
		want growth
	}{
		"smaller":                      {single(putOf(own+"old", 900)), growth{0, true}}, // the other branch does nothing
		"a little larger":              {single(putOf(own+"old", 1000+little)), growth{little, true}},
		"larger":                       {single(putOf(own+"old", 1001+little)), growth{little + 1, false}},
		"new":                          {single(putOf(own+"new", 7)), growth{key + 3 + 7, false}},
		"the record of an API server":  {single(putOf(own+serversFolder+"a", 7)), growth{key + int64(len(serversFolder)) + 1 + 7, true}},
		"too much of that":             {single(putOf(own+serversFolder+"a", 1+little)), growth{key + int64(len(serversFolder)) + 2 + little, false}},
		"the same and something new":   {&pb.TxnRequest{Success: []*pb.RequestOp{op(putOf(own+"old", 1000)), op(putOf(own+"n", 1))}}, growth{key + 2, false}},
		"less, and more in the second": {&pb.TxnRequest{Success: []*pb.RequestOp{op(putOf(own+"old", 1))}, Failure: []*pb.RequestOp{op(putOf(own+"old", 1010))}}, growth{10, true}},
	} {
		if d := cmp.Diff(tc.want, s.grows(tc.r, before), cmp.AllowUnexported(growth{})); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
	if !strings.HasSuffix(serversFolder, "/") {
		t.Error("the folder of API servers is no folder")
	}
}
