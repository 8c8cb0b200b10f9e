package datastore

import (
	"context"
	"errors"
	"math"
)

// How much of what an etcd may hold KQueen leaves to its tenants, in percent: what KQueen writes itself passes no gate, which would stop it
// before etcd takes no write of any tenant.
const (
	// LeftByCopies is for what can wait.
	LeftByCopies = 20
	// LeftByRestores is where gates hold tenants up, too (package storegate).
	LeftByRestores = 10
)

// spaceEvery is after how many bytes it is asked again whether there is space: all tenants write meanwhile.
const spaceEvery = 16 << 20

// ErrNoSpace is in the chain of errors that say that a write would take what is left to tenants.
var ErrNoSpace = errors.New("the data store has no space for it")

// Space is how many bytes may be added to the etcd when so many percent of it have to be left. It is negative where less is.
func (s State) Space(ctx context.Context, left int) (int64, error) {
	h, err := s.store.Health(ctx)
	if err != nil {
		return 0, err
	}
	return spaceOf(h, left), nil
}

// spaceOf counts what is in use, and of the file itself, whose free parts do not fit everything, half of what has to be left. It is pure.
func spaceOf(h Health, left int) int64 {
	if h.QuotaBytes <= 0 { // not known
		return math.MaxInt64
	}
	half := h.QuotaBytes / 200 * int64(left)
	return min(h.QuotaBytes-2*half-h.DBInUseBytes, h.QuotaBytes-half-h.DBBytes)
}
