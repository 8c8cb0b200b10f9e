package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Verify compares every program with the hash that was recorded when it was made, which a lookup does not.
func (b Binaries) Verify(ctx context.Context) error {
	for name, want := range b.Components {
		if err := verify(ctx, b.Path(name), want); err != nil {
			return err
		}
	}
	return nil
}

// Verify is as that of [Binaries].
func (p NodeParts) Verify(ctx context.Context) error {
	have, _, err := readManifest(p.Dir, Version{}, nodeFiles)
	if err != nil {
		return err
	}
	for name, want := range have.Components {
		if err := verify(ctx, filepath.Join(p.Dir, name), want); err != nil {
			return err
		}
	}
	return nil
}

func verify(ctx context.Context, file string, want Component) error {
	got, err := hashFile(ctx, file)
	if err == nil && got != want {
		err = fmt.Errorf("%w: %s has another hash than when it was made", ErrDamaged, file)
	}
	return err
}

// TestVerify: the tests would see a byte that is another one.
func TestVerify(t *testing.T) {
	m := newMirror(t, nil)
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	b, err := store.Ensure(t.Context(), v, m.source(), nil)
	if err != nil {
		t.Fatal(err)
	}
	content := program("kube-proxy")
	content[500] ^= 1
	if err := os.WriteFile(b.Path("kube-proxy"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := store.Lookup(v); !ok || err != nil {
		t.Errorf("lookup looks at sizes only, but: %v, %v", ok, err)
	}
	if err := b.Verify(t.Context()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "kube-proxy") {
		t.Errorf("verify: %v", err)
	}
}
