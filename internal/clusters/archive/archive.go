// Package archive keeps backups of keyspaces: entries in the order of their keys, split into chunks that are named by their content,
// compressed, and encrypted to keys that KQueen need not hold; and for each backup a signed manifest that names its chunks.
//
// It hides the format, so that what is not whole, not ours or another cluster's backup is never read as if it were: [Open] and
// [Backup.Verify] tell. Chunks that two backups of one cluster share are kept once. The reconcilers of backups use it; it knows
// neither data stores nor objects.
//
// Beside backups it keeps logs of the changes between them, in segments.
//
// The format, below the folder of one cluster, or of what keeps a log:
//
//	backups/UID        the signature (64 bytes in hexadecimal, "\n"), then the manifest in JSON
//	chunks/ab/abcd…    a chunk: entries, by zstd, by age; its name is the HMAC-SHA256 of the entries
//	log/NAME/AFTER     a segment: the signature, its head in JSON ("\n"), and changes, by zstd, by age; AFTER is the revision at which it begins
//
// An entry is the length of its key, the key, the length of its value and the value; lengths are unsigned varints.
package archive

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"filippo.io/age"
)

// Bucket is where the files of backups are, those of one cluster, or a log. Names are relative, with "/" between their parts.
type Bucket interface {
	// Put makes or replaces a file. It is there as a whole or not at all.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns a file of at most so many bytes; [ErrNotFound] when there is none.
	Get(ctx context.Context, name string, most int64) ([]byte, error)
	// List returns the names of the files in a folder, or in its folders; none where there is no such folder.
	List(ctx context.Context, folder string) ([]string, error)
	// Delete removes a file. It is no error when there is none.
	Delete(ctx context.Context, name string) error
}

// ErrNotFound says that there is no such file.
var ErrNotFound = errors.New("not found")

// DamagedError says that what is there is not what was written.
type DamagedError struct{ Problem string }

func (e *DamagedError) Error() string { return e.Problem }

func damaged(format string, args ...any) error {
	return &DamagedError{fmt.Sprintf(format, args...)}
}

// Keys protect the backups of one store.
type Keys struct {
	// identity opens chunks; nil where only others can.
	identity *age.X25519Identity
	// recipients are those to whose keys chunks are encrypted.
	recipients []age.Recipient
	// naming names chunks, and sign signs manifests: without the first a chunk's name says nothing of what is in it.
	naming []byte
	sign   ed25519.PrivateKey
}

// Names of the keys in a Secret.
const (
	keyIdentity = "identity"
	keyNaming   = "naming"
	keySign     = "sign"
)

// NewKeys makes keys, as a Secret holds them.
func NewKeys() (map[string][]byte, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("create a key for backups: %w", err)
	}
	naming, seed := make([]byte, sha256.Size), make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(naming) // it never fails
	_, _ = rand.Read(seed)
	return map[string][]byte{keyIdentity: []byte(identity.String()), keyNaming: naming, keySign: seed}, nil
}

// ParseKeys reads what [NewKeys] made. recipients are further public keys of age ("age1…") that can open the backups. An error names no
// key.
func ParseKeys(data map[string][]byte, recipients []string) (Keys, error) {
	if len(data[keyNaming]) != sha256.Size || len(data[keySign]) != ed25519.SeedSize {
		return Keys{}, fmt.Errorf("the keys %q and %q are missing or of another length", keyNaming, keySign)
	}
	identity, err := age.ParseX25519Identity(string(data[keyIdentity]))
	if err != nil {
		return Keys{}, fmt.Errorf("the key %q is no identity of age", keyIdentity)
	}
	k := Keys{identity: identity, recipients: []age.Recipient{identity.Recipient()}, naming: data[keyNaming], sign: ed25519.NewKeyFromSeed(data[keySign])}
	for i, text := range recipients {
		recipient, err := age.ParseX25519Recipient(text)
		if err != nil {
			return Keys{}, fmt.Errorf("recipients[%d]: %.80q is no public key of age, such as age1… by age-keygen: %w", i, text, err)
		}
		k.recipients = append(k.recipients, recipient)
	}
	return k, nil
}

// Recipient is the public key of age to which everything is encrypted.
func (k Keys) Recipient() string { return k.identity.Recipient().String() }

// name is that of a chunk with this content.
func (k Keys) name(plain []byte) string {
	h := hmac.New(sha256.New, k.naming)
	h.Write(plain)
	return hex.EncodeToString(h.Sum(nil))
}
