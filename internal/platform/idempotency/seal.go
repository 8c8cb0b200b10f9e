package idempotency

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// KeySize is the length of the key of a store, in bytes.
const KeySize = 32

// keys are made of the one key.
type keys struct {
	// id says which key it is, and nothing about it.
	id   string
	name []byte
	aead cipher.AEAD
}

func newKeys(key []byte) (keys, error) {
	if len(key) != KeySize {
		return keys{}, fmt.Errorf("key of the store of answers: it has %d bytes; want %d", len(key), KeySize)
	}
	derive := func(purpose string) []byte { return mac(key, "kqueen.io/idempotency/"+purpose) }
	block, err := aes.NewCipher(derive("answer"))
	if err != nil {
		return keys{}, fmt.Errorf("key of the store of answers: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return keys{}, fmt.Errorf("key of the store of answers: %w", err)
	}
	return keys{id: hex.EncodeToString(derive("id")[:8]), name: derive("name"), aead: aead}, nil
}

// mac is the HMAC-SHA256 of texts, each with its length before it.
func mac(key []byte, texts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, text := range texts {
		_, _ = h.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
	return h.Sum(nil)
}

// row is what says which request it is. Nothing of it says so to a reader without the key: a request may hold a
// password that its hash would betray.
type row struct{ id, caller, request string }

func (k keys) row(caller Caller, key string, request [32]byte) row {
	name := func(texts ...string) string { return hex.EncodeToString(mac(k.name, texts...)) }
	id := name("key", caller.Account, caller.Credential, key)
	return row{id: id, caller: name("caller", caller.Account), request: name("request", id, string(request[:]))}
}

// bound is what an answer is sealed together with: put into another row, or under another key, it does not open.
func (r row) bound(keyID string) []byte {
	return []byte(strings.Join([]string{"kqueen.io/idempotency/2", keyID, r.id, r.request}, "\n"))
}

func (k keys) seal(r row, a Answer) ([]byte, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return k.aead.Seal(nil, nil, raw, r.bound(k.id)), nil //nolint:gosec // this AEAD makes nonces itself
}

func (k keys) open(r row, keyID string, sealed []byte) (*Answer, error) {
	raw, err := k.aead.Open(nil, nil, sealed, r.bound(keyID))
	if err != nil {
		return nil, errors.New("the answer that was kept cannot be opened: it was changed, or sealed with another key")
	}
	a := &Answer{}
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, fmt.Errorf("read the answer that was kept: %w", err)
	}
	return a, nil
}

// bounded is the part of an answer that is kept.
func bounded(a Answer) Answer {
	if len(a.Body) > MaxBody {
		return Answer{TooLong: true}
	}
	return a
}
