package server

import (
	"net/http"
	"sync"

	"kqueen.io/kqueen/api/rest"
)

// Streams go on for long, so they are counted apart from requests: so many of one caller, and so many in all.
const (
	maxStreamsOfOne = 32
	maxStreams      = 1024
)

// streams counts those that are open.
type streams struct {
	mu  sync.Mutex
	of  map[string]int
	all int
}

// begin counts a stream of a request, which makes room for another one. The function that it returns ends it.
func (s *streams) begin(r *request) (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxStreams || s.of[r.caller.Name] >= maxStreamsOfOne {
		return nil, newProblem(http.StatusTooManyRequests, rest.CodeTooMany, "there are too many streams; end some, and come again")
	}
	s.all++
	s.of[r.caller.Name]++
	if r.leave != nil {
		r.leave()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[r.caller.Name]--; s.of[r.caller.Name] == 0 {
			delete(s.of, r.caller.Name)
		}
	}, nil
}
