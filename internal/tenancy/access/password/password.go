// Package password keeps passwords of users: the rule for a new one, its hash, and the check.
//
// A hash is argon2id in the PHC string format, so that it says by itself how it was made and the cost can be raised
// later. Each check takes memory, so only a few run at a time. It hides the algorithm; what keeps hashes may import it.
package password

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-crypt/crypt/algorithm/argon2"
	"golang.org/x/text/unicode/norm"
)

// Cost of a hash.
type Cost struct {
	// Memory in KiB.
	Memory uint32
	// Passes over the memory.
	Passes int
	// Lanes that can be computed side by side.
	Lanes int
}

// DefaultCost is the second recommended choice of RFC 9106, section 4 (t=3, p=4, m=64 MiB). It is above the least that
// the OWASP Password Storage Cheat Sheet asks for (m=19 MiB, t=2, p=1).
var DefaultCost = Cost{Memory: 64 << 10, Passes: 3, Lanes: 4}

const (
	saltLength = 16 // bytes; RFC 9106, section 3.1
	keyLength  = 32
	// atOnce is how many hashes are computed at a time; each takes Cost.Memory.
	atOnce = 2
	// maxWaiting is how many wait for that. Who comes after them would not be answered before giving up.
	maxWaiting = 100
)

// ErrBusy says that too many passwords are being checked.
var ErrBusy = errors.New("too many passwords are being checked; try again")

// Checker makes and checks hashes. It is safe for concurrent use.
type Checker struct {
	hasher *argon2.Hasher
	cost   Cost
	// slots has what is computed, queue that and what waits.
	slots, queue chan struct{}
	// decoy is the hash of nothing that is known. Checking against it takes as long as against another.
	decoy string
}

// NewChecker makes hashes of that cost; the zero Cost is DefaultCost.
func NewChecker(ctx context.Context, cost Cost) (*Checker, error) {
	if cost == (Cost{}) {
		cost = DefaultCost
	}
	hasher, err := argon2.New(argon2.WithVariantID(), argon2.WithM(cost.Memory), argon2.WithT(cost.Passes),
		argon2.WithP(cost.Lanes), argon2.WithSaltLength(saltLength), argon2.WithKeyLength(keyLength))
	if err != nil {
		return nil, fmt.Errorf("cost of passwords: %w", err)
	}
	c := &Checker{hasher: hasher, cost: cost, slots: make(chan struct{}, atOnce), queue: make(chan struct{}, atOnce+maxWaiting)}
	c.decoy, err = c.Hash(ctx, "no user has it, and it would not be looked at")
	return c, err
}

// Hash returns the PHC string of a password. It waits while others are computed. Errors: ErrBusy, the context's.
func (c *Checker) Hash(ctx context.Context, password string) (string, error) {
	if err := c.enter(ctx); err != nil {
		return "", err
	}
	defer c.leave()
	digest, err := c.hasher.Hash(fold(password))
	if err != nil {
		return "", errors.New("hash the password: there is no salt to be had")
	}
	return digest.Encode(), nil
}

// Check says whether hash is that of password; an empty hash is that of none, and is found out in the same time. stale
// says that the hash was made with another cost than today's. Its error says nothing about the password: it could not
// be checked.
func (c *Checker) Check(ctx context.Context, hash, password string) (good, stale bool, err error) {
	none := hash == ""
	if none {
		hash = c.decoy
	}
	if err := c.enter(ctx); err != nil {
		return false, false, err
	}
	defer c.leave()
	digest, err := argon2.DecodeVariant(argon2.VariantID)(hash)
	if err != nil {
		return false, false, errors.New("read the hash of the password: it is no PHC string of argon2id")
	}
	matches := digest.MatchBytes([]byte(fold(password)))
	return matches && !none, c.stale(hash), nil
}

// stale compares what a PHC string says about its cost.
func (c *Checker) stale(hash string) bool {
	var cost Cost
	var version int
	_, err := fmt.Sscanf(hash, "$argon2id$v=%d$m=%d,t=%d,p=%d$", &version, &cost.Memory, &cost.Passes, &cost.Lanes)
	return err != nil || cost != c.cost
}

func (c *Checker) enter(ctx context.Context) error {
	select {
	case c.queue <- struct{}{}:
	default:
		return ErrBusy
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-c.queue
		return fmt.Errorf("wait for others whose passwords are checked: %w", ctx.Err())
	}
}

func (c *Checker) leave() {
	<-c.slots
	<-c.queue
}

// fold makes one of the ways in which keyboards write the same characters (NIST SP 800-63B, section 3.1.1.2).
func fold(password string) string { return norm.NFKC.String(password) }
