package atrest_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/atrest"
)

// keysOf are a present key, of a name or of none, with others beside it.
func keysOf(letter, name string, more map[string][]byte) map[string][]byte {
	keys := map[string][]byte{atrest.Key: bytes.Repeat([]byte(letter), atrest.Length)}
	if name != "" {
		keys[atrest.Name] = []byte(name)
	}
	maps.Copy(keys, more)
	return keys
}

func cipher(t *testing.T, keys map[string][]byte) atrest.Cipher {
	t.Helper()
	c, err := atrest.NewCipher(keys)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCipher: what was encrypted with any of the keys is read, and what is written is by the present one.
func TestCipher(t *testing.T) {
	next := map[string][]byte{atrest.Next + atrest.Key: bytes.Repeat([]byte("n"), atrest.Length), atrest.Next + atrest.Name: []byte("key-2")}
	during := cipher(t, keysOf("a", "", next))
	for name, c := range map[string]atrest.Cipher{"present": cipher(t, keysOf("a", "", nil)), "next": cipher(t, keysOf("n", "key-2", nil))} {
		sealed, err := c.Seal(t.Context(), []byte("open"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := during.Open(t.Context(), sealed); string(got) != "open" || err != nil {
			t.Errorf("%s: got %q: %v", name, got, err)
		}
	}
	sealed, err := during.Seal(t.Context(), []byte("open"))
	if err != nil || !bytes.HasPrefix(sealed, []byte("k8s:enc:secretbox:v1:key1:")) || bytes.Contains(sealed, []byte("open")) {
		t.Errorf("it is written as %q: %v", sealed, err)
	}
	if got, err := during.Open(t.Context(), []byte("plain")); string(got) != "plain" || err != nil {
		t.Errorf("got %q: %v", got, err)
	}
	for value, want := range map[string]string{
		"k8s:enc:secretbox:v1:key9:x": "a key that is not there", "k8s:enc:aescbc:v1:key1:x": "a key that is not there", "k8s:enc:secretbox:v1:key1": "a key that is not there",
		"k8s:enc:secretbox:v1:key1:x": "cannot be decrypted", "k8s:enc:secretbox:v1:key1:" + strings.Repeat("x", 60): "cannot be decrypted",
	} {
		if got, err := during.Open(t.Context(), []byte(value)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q: %v", value, got, err)
		}
	}
}

func TestNewCipherRefuses(t *testing.T) {
	for _, keys := range []map[string][]byte{nil, {atrest.Key: []byte("short")}, {atrest.Old + atrest.Key: bytes.Repeat([]byte("o"), atrest.Length)}} {
		if _, err := atrest.NewCipher(keys); err == nil || strings.Contains(err.Error(), "short") {
			t.Errorf("%d keys: got %v", len(keys), err)
		}
	}
}

// TestOf: a backup takes along the keys of encryption and none else of a control plane.
func TestOf(t *testing.T) {
	secret := map[string][]byte{"ca.key": {1}, atrest.Key: {2}, atrest.Old + atrest.Key: {3}, atrest.Next + atrest.Name: {4}, "admin.crt": {5}}
	want := map[string][]byte{atrest.Key: {2}, atrest.Old + atrest.Key: {3}, atrest.Next + atrest.Name: {4}}
	if diff := cmp.Diff(want, atrest.Of(secret)); diff != "" {
		t.Error(diff)
	}
}
