package pki

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reason says why an entry was made new, or why a root of trust cannot be used.
type Reason string

// The reasons.
const (
	Missing     Reason = "missing"
	Unreadable  Reason = "unreadable"
	KeyMismatch Reason = "key and certificate do not belong together"
	WrongSigner Reason = "signed by another authority"
	Differs     Reason = "says something else than wanted"
	NotYetValid Reason = "not yet valid"
	Expired     Reason = "expired"
	// Due is past 70 % of its life.
	Due Reason = "due for renewal"
	// Dropped is an entry that the set does not know.
	Dropped Reason = "not wanted"
)

// Change is one thing that Issue did.
type Change struct {
	// Name is the name in the set ("apiserver"), for Dropped the file name ("old.crt").
	Name   string
	Reason Reason
	// Detail is for the operator to read, and may be empty.
	Detail string
}

// String is one line for a log or a user.
func (c Change) String() string {
	if c.Detail == "" {
		return fmt.Sprintf("%s: %s", c.Name, c.Reason)
	}
	return fmt.Sprintf("%s: %s: %s", c.Name, c.Reason, c.Detail)
}

// TrustError says that a root of trust (an authority, a signing key, or an authority among the signers) cannot be used. Trying again does not help: the operator
// has to put it right. Issue made nothing.
type TrustError struct {
	// Name is the name in the set: "ca".
	Name string
	// External is true for an authority that was looked for among the signers.
	External bool
	Reason   Reason
	// Detail is for the operator to read.
	Detail string
}

// Error says what is wrong and what would help.
func (e *TrustError) Error() string {
	if e.External {
		return fmt.Sprintf("signing authority %s: %s: %s", e.Name, e.Reason, e.Detail)
	}
	return fmt.Sprintf("root of trust %s: %s: %s; it is not made new, because nodes, users and tokens would be cut off: restore it from a backup",
		e.Name, e.Reason, e.Detail)
}

// Issue returns have, completed and renewed to want, and what it did for that. have is not altered.
//
// A leaf is made new, with a new key, when it is missing, unreadable, past 70 % of its life, signed by another authority than the one at hand, says something
// else than want, or when its key is not its own. An authority or signing key is made only when nothing says that there ever was one. All else is kept byte for
// byte; names that want does not know are dropped. So a second call changes nothing, and got equals have exactly when there are no changes.
//
// A leaf whose authority is not in want.Authorities is signed by the one of that name in signers (NAME.crt and NAME.key), of which nothing gets into got.
//
// The error is a *TrustError when a root of trust cannot be used; any other says that want or now is invalid. With an error there is no bundle: what is on disk
// stays in force.
func Issue(have Bundle, want Set, signers Bundle, now time.Time) (got Bundle, changes []Change, err error) {
	if now.IsZero() {
		return nil, nil, errors.New("now: must be set")
	}
	if err := want.validate(); err != nil {
		return nil, nil, fmt.Errorf("set of certificates: %w", err)
	}
	is := &issuing{have: have, want: want, now: now, got: Bundle{}}
	authorities, err := is.authorities(signers)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range want.SigningKeys {
		if err := is.signingKey(name); err != nil {
			return nil, nil, err
		}
	}
	for _, leaf := range want.Leaves {
		if err := is.leaf(leaf.normal(), authorities[leaf.Authority]); err != nil {
			return nil, nil, fmt.Errorf("issue %s certificate: %w", leaf.Name, err)
		}
	}
	is.dropRest()
	return is.got, is.changes, nil
}

// RenewAt returns when the first of want's leaves in b is due (70 % of its life): the time for the next Issue. It is zero for a set without leaves. The error
// says which leaf cannot be read; then Issue is due now.
func RenewAt(b Bundle, want Set) (time.Time, error) {
	var first time.Time
	for _, leaf := range want.Leaves {
		cert, err := parseCertificate(b[leaf.Name+certSuffix])
		if err != nil {
			return time.Time{}, fmt.Errorf("read %s%s: %w", leaf.Name, certSuffix, err)
		}
		if due := dueAt(cert); first.IsZero() || due.Before(first) {
			first = due
		}
	}
	return first, nil
}

// issuing is one call of Issue.
type issuing struct {
	have    Bundle
	want    Set
	now     time.Time
	got     Bundle
	changes []Change
}

// keep copies an entry; an entry that have does not hold stays away.
func (is *issuing) keep(names ...string) {
	for _, name := range names {
		if data, ok := is.have[name]; ok {
			is.got[name] = data
		}
	}
}

func (is *issuing) note(name string, reason Reason, detail string) {
	is.changes = append(is.changes, Change{Name: name, Reason: reason, Detail: detail})
}

// authorities returns those of want, made where needed, and those of signers that leaves ask for.
func (is *issuing) authorities(signers Bundle) (map[string]*authority, error) {
	out := map[string]*authority{}
	for _, a := range is.want.Authorities {
		ready, err := is.authority(a)
		if err != nil {
			return nil, err
		}
		out[a.Name] = ready
	}
	for _, leaf := range is.want.Leaves {
		if out[leaf.Authority] != nil {
			continue
		}
		ready, problem := loadAuthority(signers, leaf.Authority, is.now)
		if problem != nil {
			problem.External = true
			return nil, problem
		}
		out[leaf.Authority] = ready
	}
	return out, nil
}

func (is *issuing) leaf(want Leaf, signer *authority) error {
	reason, detail := judge(is.have, want, signer, is.now)
	if reason == "" {
		is.keep(want.Name+certSuffix, want.Name+keySuffix)
		return nil
	}
	cert, key, err := signer.sign(want, is.now)
	if err != nil {
		return err
	}
	is.got[want.Name+certSuffix], is.got[want.Name+keySuffix] = cert, key
	is.note(want.Name, reason, detail)
	return nil
}

// dropRest notes what have holds and got does not.
func (is *issuing) dropRest() {
	var dropped []string
	for name := range is.have {
		if _, ok := is.got[name]; !ok {
			dropped = append(dropped, name)
		}
	}
	slices.SortFunc(dropped, strings.Compare)
	for _, name := range dropped {
		is.note(name, Dropped, "")
	}
}
