// Package enrollment says which agent may speak for a cluster. It is a record in the Secret with the cluster's credentials: hashes of
// a one-time token and of what the agent has made itself to prove who it is.
//
//	Issue (one-time token) ──► Enroll (identity) ──► Accept ⟲ Rotate (next identity)
//
// Every step can be repeated: an agent or KQueen that ends in the middle of one does it again. It hides the form of the record. Package
// server/agents keeps it, and what reaches clusters looks whether there is one.
package enrollment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// Lifetime is how long a one-time token is good.
const Lifetime = time.Hour

// mostInstance is how long the name of a cluster's instance may be, in bytes: a UUID has 36.
const mostInstance = 64

var (
	// ErrUnknown says that a token or an identity is not good, or not any more.
	ErrUnknown = errors.New("the token is not known, has expired or was revoked")
	// ErrElsewhere says that an identity is good, for an agent in another cluster: where it comes from now it was copied to.
	ErrElsewhere = errors.New("the identity belongs to an agent in another cluster")
	// ErrInstance says that an agent does not say in which cluster it runs.
	ErrInstance = errors.New("the instance of the cluster: want the UID of its namespace kube-system")
)

// Record is which agent may speak for a cluster. The zero value is of one that has none.
type Record struct {
	OneTime *OneTime `json:"oneTime,omitempty"`
	// Identity and Next are hashes. Next takes the place of Identity when it is used.
	Identity []byte `json:"identity,omitempty"`
	Next     []byte `json:"next,omitempty"`
	// Instance is the UID of the cluster's namespace kube-system.
	Instance string `json:"instance,omitempty"`
	// At is when the agent enrolled.
	At time.Time `json:"at,omitzero"`
}

// OneTime is a token with which an agent enrolls.
type OneTime struct {
	Hash    []byte    `json:"hash"`
	Expires time.Time `json:"expires"`
	// UsedFor is the hash of the identity that it was used for. It is good for that one alone then.
	UsedFor []byte `json:"usedFor,omitempty"`
}

// Read reads a record. Nothing is a record of no agent.
func Read(data []byte) (Record, error) {
	var r Record
	if len(data) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("read which agent may speak for the cluster: %w", err)
	}
	return r, nil
}

// Encode is what Read reads.
func (r *Record) Encode() ([]byte, error) { return json.Marshal(r) }

// Enrolled says whether an agent may speak for the cluster.
func (r *Record) Enrolled() bool { return len(r.Identity) > 0 }

// Issue gives the record another one-time token. One before it is not good any more; an agent that has enrolled goes on.
func (r *Record) Issue(now time.Time) (token.Secret, time.Time) {
	made := token.New(token.OneTime, now)
	r.OneTime = &OneTime{Hash: made.Hash(), Expires: now.Add(Lifetime)}
	return made.Text(), r.OneTime.Expires
}

// Knows says whether a one-time token is good, used or not.
func (r *Record) Knows(oneTime token.Parts, now time.Time) bool {
	return r.OneTime != nil && oneTime.Kind == token.OneTime && oneTime.Is(r.OneTime.Hash) && now.Before(r.OneTime.Expires)
}

// Enroll has an agent speak for the cluster, in the place of the one before. The same agent may do it again.
func (r *Record) Enroll(oneTime, identity token.Parts, instance string, now time.Time) error {
	switch {
	case identity.Kind != token.Agent || !r.Knows(oneTime, now):
		return ErrUnknown
	case instance == "" || len(instance) > mostInstance:
		return ErrInstance
	case len(r.OneTime.UsedFor) > 0 && !bytes.Equal(r.OneTime.UsedFor, identity.Hash()):
		return ErrUnknown
	}
	r.OneTime.UsedFor = identity.Hash()
	r.Identity, r.Next, r.Instance, r.At = identity.Hash(), nil, instance, now
	return nil
}

// Accept says whether an agent may speak for the cluster, and whether the record has changed by that.
func (r *Record) Accept(identity token.Parts, instance string) (changed bool, err error) {
	isNext := len(r.Next) > 0 && identity.Is(r.Next)
	switch {
	case identity.Kind != token.Agent || !isNext && (len(r.Identity) == 0 || !identity.Is(r.Identity)):
		return false, ErrUnknown
	case instance != r.Instance:
		return false, ErrElsewhere
	}
	if isNext {
		r.Identity, r.Next = r.Next, nil
	}
	return isNext, nil
}

// Rotate notes an identity that takes the place of the present one as soon as it is used. Call it for an agent that was accepted.
func (r *Record) Rotate(next token.Parts) error {
	if next.Kind != token.Agent {
		return ErrUnknown
	}
	if !next.Is(r.Identity) {
		r.Next = next.Hash()
	}
	return nil
}
