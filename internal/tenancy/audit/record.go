package audit

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/text"
)

// Outcome says what became of an action.
type Outcome string

// Outcomes.
const (
	Succeeded Outcome = "succeeded"
	Denied    Outcome = "denied" // by who may do what, or because the caller is not known
	Failed    Outcome = "failed"
	Unknown   Outcome = "unknown" // it was begun, and KQueen ended before it could say what became of it
)

// Kinds of actors.
const (
	User           = "user"
	ServiceAccount = "service-account"
	Anonymous      = "anonymous" // a caller who did not say, or could not prove, who it is
	System         = "system"    // KQueen itself
	// AdminPlane is a caller of the admin plane itself, past KQueen's API, by the name that its API server knows.
	AdminPlane = "admin-plane"
	// Owner is a user who can enter the data directory.
	Owner = "owner"
)

// Record is one action. Fields that are longer than allowed are cut and end in "…"; control characters and what
// changes the direction of text are replaced; see docs/operations/audit.md for the limits.
type Record struct {
	// Sequence is 1 for the first record and grows by one. Append gives it.
	Sequence int64 `json:"sequence"`
	// Time is when the record was written, in UTC, to the microsecond. Append gives it.
	Time  time.Time `json:"time"`
	Actor Actor     `json:"actor"`
	// Action is what was done: create, update, delete, sign-in, issue-kubeconfig.
	Action string `json:"action"`
	// Organization whose business this is; empty for the platform's.
	Organization string `json:"organization,omitempty"`
	Object       Object `json:"object,omitzero"`
	// Source is the client's address.
	Source    string `json:"source,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
	RequestID string `json:"requestId,omitempty"`

	Outcome Outcome `json:"outcome"`
	// Status is the one of HTTP that was answered; 0 when none was.
	Status int    `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Before and After are the SHA-256 of the object's content, 64 hexadecimal digits; empty where there was none.
	// The content itself is not kept: it may hold secrets.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Detail is what else a reader of the log needs; never a secret.
	Detail map[string]string `json:"detail,omitempty"`

	// Previous is the hash of the record before this one, and Hash the one of this record. Append gives them.
	Previous string `json:"previous"`
	Hash     string `json:"hash"`
}

// Actor is who acted.
type Actor struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	// Credential is the id of the token or session that was used, never its secret.
	Credential string `json:"credential,omitempty"`
}

// Object is what was acted on.
type Object struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// Limits, in bytes of UTF-8.
const (
	maxWord   = 64  // kinds, actions, ids, addresses
	maxName   = 256 // names, user agents, values of details
	maxReason = 1024
	// maxDetails is how many details there may be.
	maxDetails = 16
)

// normalize bounds and cleans what came from outside, and refuses what no program should hand in.
func (r *Record) normalize() error {
	words := []*string{
		&r.Actor.Kind, &r.Actor.Credential, &r.Action, &r.Organization, &r.Object.Kind, &r.Object.UID, &r.Source, &r.RequestID,
	}
	for _, field := range words {
		*field = clean(*field, maxWord)
	}
	for _, field := range []*string{&r.Actor.Name, &r.Object.Name, &r.UserAgent} {
		*field = clean(*field, maxName)
	}
	r.Reason = clean(r.Reason, maxReason)
	r.Detail = cleanDetail(r.Detail)
	switch {
	case r.Actor.Kind == "":
		return invalid.New("actor.kind", "is empty; want user, service-account, anonymous, system, admin-plane or owner")
	case r.Action == "":
		return invalid.New("action", "is empty; want what was done, such as create")
	case !slices.Contains([]Outcome{Succeeded, Denied, Failed, Unknown}, r.Outcome):
		return invalid.New("outcome", "is %q; want succeeded, denied, failed or unknown", clean(string(r.Outcome), maxWord))
	case r.Status < 0 || r.Status > 599:
		return invalid.New("status", "is %d; want one of HTTP, or 0", r.Status)
	case !isDigest(r.Before):
		return invalid.New("before", "is no SHA-256; want 64 hexadecimal digits, in lower case, or nothing")
	case !isDigest(r.After):
		return invalid.New("after", "is no SHA-256; want 64 hexadecimal digits, in lower case, or nothing")
	}
	return nil
}

// isDigest allows the empty one. What is refused is not repeated: it could be a secret that was not hashed.
func isDigest(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && (s == "" || len(raw) == 32) && s == strings.ToLower(s)
}

func cleanDetail(detail map[string]string) map[string]string {
	if len(detail) == 0 {
		return nil
	}
	out := make(map[string]string, min(len(detail), maxDetails))
	for i, key := range slices.Sorted(maps.Keys(detail)) {
		if i == maxDetails-1 && len(detail) > maxDetails {
			out["…"] = fmt.Sprintf("%d more", len(detail)-i)
			break
		}
		if key != "" { // stands for a detail that cannot be read, see decodeDetail
			out[clean(key, maxWord)] = clean(detail[key], maxName)
		}
	}
	return out
}

// clean replaces what is not UTF-8, what a terminal would obey, and what shows text in another order than it has,
// and cuts the rest to limit bytes.
func clean(words string, limit int) string {
	if len(words) > 4*limit { // cleaning what is cut anyway is not paid for
		words = words[:4*limit]
	}
	words = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) {
			return '\ufffd'
		}
		return c
	}, words)
	return text.Cut(words, limit)
}
