//go:build linux

package app

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/server"
)

// opened opens the API of an installation that serves nothing else.
func opened(t *testing.T, dir string) (*App, *apiServer, error) {
	t.Helper()
	a, err := New(t.Context(), Config{Engine: existing{}, Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	d, err := a.openAPI(t.Context())
	return a, d, err
}

// TestOpenAPIOfDamaged: without its database the API opens, and answers nothing but what API servers ask for, until that is back;
// which credentials have ended is known meanwhile. Keys that are lost are an error that names them.
func TestOpenAPIOfDamaged(t *testing.T) {
	for _, file := range []string{databaseFile, "keys/door.json", "keys/audit.key"} {
		for name, damage := range damages {
			t.Run(filepath.Base(file)+name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				path := filepath.Join(dir, file)
				a, d, err := opened(t, dir)
				if err == nil {
					_, err = d.endings(t.Context(), a)
				}
				if err := errors.Join(err, d.close(), a.Close()); err != nil {
					t.Fatal(err)
				}
				good, err := os.ReadFile(path)
				if err = errors.Join(err, damage(path)); err != nil {
					t.Fatal(err)
				}
				before, _ := os.ReadFile(path)
				a, d, err = opened(t, dir)
				if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
					t.Error("the file was written")
				}
				if file != databaseFile {
					if found, ok := errors.AsType[*atomicfile.DamagedError](err); !ok || found.Path != path {
						t.Errorf("got %v, want that %s is damaged", err, path)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer d.close()
				answers(t, d, http.StatusServiceUnavailable)
				if _, err := d.endings(t.Context(), a); err != nil {
					t.Errorf("which credentials have ended: %v", err)
				}
				if err := os.Remove(filepath.Join(dir, endingsFile)); err != nil {
					t.Fatal(err)
				}
				if _, err := d.endings(t.Context(), a); err == nil {
					t.Error("it is known which credentials have ended, from nowhere")
				}
				if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, good, 0o600), d.migrate(t.Context(), a)); err != nil {
					t.Fatal(err)
				}
				answers(t, d, http.StatusOK)
				if left := a.problems.list(); len(left) > 0 {
					t.Errorf("with the database back: %q", left)
				}
			})
		}
	}
}

// answers asks the handler around a server that answers everything.
func answers(t *testing.T, d *apiServer, want int) {
	t.Helper()
	h := d.whole(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for path, want := range map[string]int{rest.Prefix + "/organizations": want, "/": want, server.IssuerPath + "/keys": http.StatusOK, server.IssuerPath: want} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if w.Code != want {
			t.Errorf("%s: the answer is %d, want %d", path, w.Code, want)
		}
	}
}
