package datastore

import (
	"context"
	"math"
)

// Space is how many bytes may be added to the etcd by what can wait, such as a copy: it leaves a fifth of what the etcd may hold to its
// tenants, who share it. What KQueen writes itself passes no gate that would stop it before etcd takes no write of any tenant. It is
// negative where less than that is left.
func (s State) Space(ctx context.Context) (int64, error) {
	h, err := s.store.Health(ctx)
	if err != nil {
		return 0, err
	}
	return spaceOf(h), nil
}

// spaceOf counts what is in use, and with a tenth more the file itself, whose free parts do not fit everything. It is pure.
func spaceOf(h Health) int64 {
	if h.QuotaBytes <= 0 { // not known
		return math.MaxInt64
	}
	tenth := h.QuotaBytes / 10
	return min(8*tenth-h.DBInUseBytes, 9*tenth-h.DBBytes)
}
