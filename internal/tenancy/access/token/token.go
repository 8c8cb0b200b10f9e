// Package token makes and reads the secrets that KQueen hands out: sessions, API tokens, one-time tokens.
//
// A token says by its prefix what it is, so that scanners find it in what was published by mistake; it carries a public
// id, under which logs name it and under which it is revoked; and it ends in a checksum, so that one that was cut off
// is told from one that is not good. What is kept of it is a hash. It hides how tokens are written; what keeps
// tokens, and what reads one from a user, may import it.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
)

// Kind is what a token is good for. It is the prefix of its text.
type Kind string

// The kinds of tokens.
const (
	// Session is what signing in gives.
	Session Kind = "kqu_"
	// API is a token that a user made for a program.
	API Kind = "kqt_"
	// ServiceAccount is a token of a service account.
	ServiceAccount Kind = "kqs_"
	// OneTime is good for one act: the first administrator, a new password, a step of signing in.
	OneTime Kind = "kq1_"
	// Agent is what an agent in a cluster proves itself with. The agent makes it.
	Agent Kind = "kqa_"
)

var kinds = []Kind{Session, API, ServiceAccount, OneTime, Agent}

// A token is KIND ID SECRET CHECKSUM without anything between. All but the kind is lower-case base32 (RFC 4648,
// extended hex alphabet): it survives being selected with a double click, and the order of ids is their age.
const (
	idLength       = 16 // 5 bytes of seconds since 1970, 5 of chance
	secretBytes    = 25 // 200 bits
	secretLength   = 40
	checksumLength = 7 // CRC-32 (IEEE) of all before it
	length         = 4 + idLength + secretLength + checksumLength
)

// Pattern finds tokens in a text. It is written for the lists of secret scanners.
const Pattern = `kq[auts1]_[0-9a-v]{63}`

// Parts of a token.
type Parts struct {
	Kind Kind
	// ID is public.
	ID string
	// secret is not.
	secret string
}

// Errors of Parse. They do not repeat what was read.
var (
	// ErrNoToken says that something does not begin like a token.
	ErrNoToken = errors.New("it is not a token of KQueen; want one that begins with kqu_, kqt_, kqs_, kqa_ or kq1_")
	// ErrTorn says that something begins like a token and is damaged.
	ErrTorn = errors.New("it is incomplete or has a typing error; want the whole token, 67 characters without a space")
)

// New makes a token. It is written with [Parts.Text], once.
func New(kind Kind, now time.Time) Parts {
	var id [10]byte
	var secret [secretBytes]byte
	_, _ = rand.Read(id[:]) // does not fail, and ends the program when the system has no chance to give
	_, _ = rand.Read(secret[:])
	var seconds [8]byte
	binary.BigEndian.PutUint64(seconds[:], uint64(now.Unix()))
	copy(id[:5], seconds[3:])
	return Parts{Kind: kind, ID: encode(id[:]), secret: encode(secret[:])}
}

// Parse reads a token. What it returns is well formed; whether it is good is for the keeper of its hash to say.
func Parse(text string) (Parts, error) {
	for _, kind := range kinds {
		rest, ok := strings.CutPrefix(text, string(kind))
		if !ok {
			continue
		}
		if len(text) != length || text[length-checksumLength:] != checksum(text[:length-checksumLength]) {
			return Parts{}, ErrTorn
		}
		for _, c := range rest {
			if !strings.ContainsRune(alphabet, c) {
				return Parts{}, ErrTorn
			}
		}
		return Parts{Kind: kind, ID: rest[:idLength], secret: rest[idLength : idLength+secretLength]}, nil
	}
	return Parts{}, ErrNoToken
}

// Text is the whole token.
func (p Parts) Text() Secret {
	head := string(p.Kind) + p.ID + p.secret
	return Secret(head + checksum(head))
}

// Hash is what is kept: SHA-256 of kind, id and secret. A slow hash would add nothing to 200 bits of chance.
func (p Parts) Hash() []byte {
	sum := sha256.Sum256([]byte(string(p.Kind) + p.ID + p.secret))
	return sum[:]
}

// Is says in constant time whether hash is that of the token.
func (p Parts) Is(hash []byte) bool { return subtle.ConstantTimeCompare(p.Hash(), hash) == 1 }

// String names the token without its secret.
func (p Parts) String() string { return fmt.Sprintf("%s%s…", p.Kind, p.ID) }

// GoString is String: %#v shows no secret either.
func (p Parts) GoString() string { return p.String() }

const alphabet = "0123456789abcdefghijklmnopqrstuv"

func encode(data []byte) string {
	return base32.NewEncoding(alphabet).WithPadding(base32.NoPadding).EncodeToString(data)
}

func checksum(text string) string {
	return encode(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))))
}
