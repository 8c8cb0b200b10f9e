package chain

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/platform/peer"
	"kqueen.io/kqueen/internal/platform/share"
)

// What the server can do at once is shared out, so that no client takes what others need:
//
//   - Every request waits at the entrance for a moment, in the order of coming, until its caller is authenticated. Nothing is
//     read from the client meanwhile, so no client can make that moment long.
//   - The request of a known caller goes on in the share of that caller, wherever it comes from.
//   - What is for all, such as signing in, goes on in the share of the address that it comes from.
const (
	// MaxEntering is for how many it is found out at once who they are.
	MaxEntering = 64
	// maxEnteringOfOne is how many of one address are at the entrance, waiting or not.
	maxEnteringOfOne = 512
	// entranceWait is how long a request waits there before being told to come again.
	entranceWait = 5 * time.Second

	// MaxRequests is how many requests of callers are worked on at once, maxRequestsOfOne how many of one caller, and
	// sureOfCaller how many of one caller even when all the others are taken.
	MaxRequests      = 256
	maxRequestsOfOne = 64
	sureOfCaller     = 4

	// The same of those who have not said who they are, by address.
	maxStrangers      = 128
	MaxStrangersOfOne = 16
	sureOfStranger    = 1
)

// entrance is where requests are until their callers are authenticated.
type entrance struct {
	present *share.Shares
	// seats are for those who are worked on. The others wait for one in the order of coming.
	seats chan struct{}
}

func newEntrance() *entrance {
	return &entrance{share.New(maxEnteringOfOne*MaxEntering, maxEnteringOfOne, 1), make(chan struct{}, MaxEntering)}
}

// enter waits for a seat, which leave gives back. It is nil when there is none for too long.
func (e *entrance) enter(ctx context.Context, address string) (leave func()) {
	gone := e.present.Take(address)
	if gone == nil {
		return nil
	}
	tooLong := time.NewTimer(entranceWait)
	defer tooLong.Stop()
	select {
	case e.seats <- struct{}{}:
		return sync.OnceFunc(func() { <-e.seats; gone() })
	case <-tooLong.C:
	case <-ctx.Done():
	}
	gone()
	return nil
}

// partyOf is whose share a request from an address is in. Clients without an address share one.
func partyOf(address netip.Addr) string { return peer.Of(address).String() }
