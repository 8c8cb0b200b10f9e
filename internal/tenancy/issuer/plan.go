package issuer

import (
	"slices"
	"time"
)

const (
	// keyPeriod is how long a key signs.
	keyPeriod = 30 * 24 * time.Hour
	// keysFresh is how long API servers may keep what Handler said of the keys. They ask again for a key that they
	// do not know, but not sooner. It also bounds what tokens of made-up keys can make them ask: once in it.
	keysFresh = time.Minute
	// publishLead is how long a key is published before it signs. It must be longer than keysFresh, or tokens
	// would be refused by those who have not heard of their key.
	publishLead = 10 * time.Minute
	// RenewalSpread is how long after the first process all replicas must have called Renew.
	RenewalSpread = publishLead - 2*keysFresh
	// afterlife is how long a key is published after it has signed last: its last token lives no longer, and
	// the API server that checks it may be late by the skew, and by the 10 seconds for which API servers remember an answer.
	afterlife = MaxLifetime + 2*skew + time.Minute
)

// life is when a key was made, and when it begins to sign. It signs until the next one begins to.
type life struct {
	id    string
	signs time.Time
}

// change is what is to be done about the keys.
type change struct {
	// add asks for a new key, which signs from signs on.
	add   bool
	signs time.Time
	// drop are the ids of keys that no living token needs.
	drop []string
	// next is when there will be something to do again.
	next time.Time
}

// plan says what is to be done about keys at a time. It is pure. keys are in the order in which they sign.
func plan(keys []life, now time.Time) change {
	if len(keys) == 0 {
		// No API server can remember older keys than none, so the first one need not wait.
		return change{add: true, signs: now, next: now.Add(keyPeriod - publishLead)}
	}
	var c change
	for i, k := range keys[:len(keys)-1] {
		if gone := keys[i+1].signs.Add(afterlife); gone.After(now) {
			c.next = earlier(c.next, gone)
		} else {
			c.drop = append(c.drop, k.id)
		}
	}
	last := keys[len(keys)-1].signs
	if due := last.Add(keyPeriod - publishLead); due.After(now) {
		c.next = earlier(c.next, due)
		return c
	}
	c.add, c.signs = true, now.Add(publishLead)
	c.next = earlier(c.next, c.signs.Add(afterlife)) // until then the last one is needed
	return c
}

// signing returns the index of the key that signs at a time: the youngest whose time has come. A clock that went
// back leaves the oldest. It is pure; there must be a key.
func signing(keys []life, now time.Time) int {
	for i := len(keys) - 1; i > 0; i-- {
		if !keys[i].signs.After(now) {
			return i
		}
	}
	return 0
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return slices.MinFunc([]time.Time{a, b}, time.Time.Compare)
}
