// Package share bounds what goes on at once, for all together and for each party, so that no party takes what the others
// need. A party is whatever its users count by: the address of a client, the name of a caller.
//
// It hides the counting. Servers that share something out import it.
package share

import "sync"

// Shares counts what goes on at once, by whose it is. It is safe for concurrent use.
type Shares struct {
	most, mostOfOne, sure int

	mu  sync.Mutex
	of  map[string]int
	all int
}

// New returns Shares of at most so many, and at most mostOfOne of one party. As many as sure of each party there may be in
// any case: many parties together cannot keep another one out.
func New(most, mostOfOne, sure int) *Shares {
	return &Shares{most: most, mostOfOne: mostOfOne, sure: sure, of: map[string]int{}}
}

// Take counts one more of a party until leave is called, which may be called again. It is nil when the share is full.
func (s *Shares) Take(party string) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.of[party]
	if have >= s.mostOfOne || s.all >= s.most && have >= s.sure {
		return nil
	}
	s.all++
	s.of[party]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[party]--; s.of[party] == 0 {
			delete(s.of, party)
		}
	})
}

// Taken is how many there are now, of all parties.
func (s *Shares) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}
