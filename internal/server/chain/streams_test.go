package chain

import (
	"testing"
)

func TestStreamsAreBounded(t *testing.T) {
	s := newStreams(nil)
	left := 0
	one := &Request{Caller: Caller{Name: "one"}, leave: func() { left++ }}
	var ends []func()
	for range maxStreamsOfOne {
		end, err := s.Begin(with(t.Context(), one))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if _, err := s.Begin(with(t.Context(), one)); err == nil || left != maxStreamsOfOne {
		t.Errorf("one too many: %v, %d left", err, left)
	}
	if _, err := s.Begin(with(t.Context(), &Request{Caller: Caller{Name: "other"}})); err != nil {
		t.Errorf("another caller: %v", err)
	}
	for _, end := range ends {
		end()
	}
	if _, err := s.Begin(with(t.Context(), one)); err != nil || len(s.of) != 2 {
		t.Errorf("after they ended: %v %v", err, s.of)
	}
}
