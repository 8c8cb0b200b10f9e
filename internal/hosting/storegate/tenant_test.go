package storegate

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// A tenant writes much at once, then so many bytes a second, and what would wait for longer than a write may is refused at once.
// A deletion counts, too, and leases have a pace of their own.
func TestPace(t *testing.T) {
	const second = bytesPerSecond
	written := func(bytes ...int64) func(context.Context, *tenant) error {
		return func(ctx context.Context, t *tenant) error {
			for _, b := range bytes {
				if err := t.pace(ctx, b); err != nil {
					return err
				}
			}
			return nil
		}
	}
	times := func(n int, once func(context.Context, *tenant) error) func(context.Context, *tenant) error {
		return func(ctx context.Context, t *tenant) error {
			for range n {
				if err := once(ctx, t); err != nil {
					return err
				}
			}
			return nil
		}
	}
	lease := func(ctx context.Context, t *tenant) error { return t.paceLease(ctx) }
	for name, c := range map[string]struct {
		asks    func(context.Context, *tenant) error
		takes   time.Duration
		refused bool
	}{
		"AtOnce":      {asks: written(bytesAtOnce)},
		"Larger":      {asks: written(10 * bytesAtOnce)}, // than all that may be written at once: it is written when there is nothing else
		"ForLong":     {asks: written(bytesAtOnce, second, 3*second), takes: 4 * time.Second},
		"TooMuch":     {asks: written(bytesAtOnce, 11*second), refused: true},
		"Deletions":   {asks: times(bytesAtOnce/leastBytes+2*second/leastBytes, written(0)), takes: 2 * time.Second},
		"Leases":      {asks: times(leasesAtOnce+5*leasesPerSecond, lease), takes: 5 * time.Second},
		"LeasesApart": {asks: times(1, func(ctx context.Context, t *tenant) error { _ = t.pace(ctx, bytesAtOnce); return t.paceLease(ctx) })},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, err := newTenant(t.Context(), store{addresses: []string{"127.0.0.1:1"}}, datastore.AdminKeyspace(), nil, shared{}, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				defer one.close()
				began := time.Now()
				err = c.asks(t.Context(), one)
				if took := time.Since(began).Round(time.Millisecond); took != c.takes {
					t.Errorf("took %v, want %v", took, c.takes)
				}
				if refused := status.Code(err) == codes.ResourceExhausted; refused != c.refused || (err != nil && !refused) {
					t.Errorf("got %v, want it refused %v", err, c.refused)
				}
			})
		})
	}
}
