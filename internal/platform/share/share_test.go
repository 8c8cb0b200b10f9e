package share_test

import (
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/platform/share"
)

func TestShares(t *testing.T) {
	for _, c := range []struct {
		name string
		// takes are parties in the order in which they take; a - before one is a leave.
		takes string
		// want says for each take whether there is space.
		want string
	}{
		{"one party has its most", "a a a a", "yes yes yes no"},
		{"another one has space then", "a a a a b b", "yes yes yes no yes yes"},
		{"all is taken, but each is sure of one", "a a a b b b c d d", "yes yes yes yes yes no yes yes no"},
		{"who leaves makes space", "a a a a -a a a", "yes yes yes no yes no"},
		{"who is sure of one, and leaves, comes again", "a a a b b c -c c c", "yes yes yes yes yes yes yes no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, leaves, got := share.New(5, 3, 1), map[string][]func(){}, []string{}
			for party := range strings.FieldsSeq(c.takes) {
				if party, ok := strings.CutPrefix(party, "-"); ok {
					leaves[party][0]()
					leaves[party][0]() // counts once
					leaves[party] = leaves[party][1:]
					continue
				}
				leave := s.Take(party)
				got = append(got, map[bool]string{true: "yes", false: "no"}[leave != nil])
				if leave != nil {
					leaves[party] = append(leaves[party], leave)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("takes %s: %s, want %s", c.takes, strings.Join(got, " "), c.want)
			}
			for _, all := range leaves {
				for _, leave := range all {
					leave()
				}
			}
			if n := s.Taken(); n != 0 {
				t.Errorf("all have left, and it counts %d", n)
			}
		})
	}
}
