package s3_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/archive/archivetest"
	"kqueen.io/kqueen/internal/clusters/archive/s3"
	"kqueen.io/kqueen/internal/clusters/archive/s3/s3test"
)

func config(server *s3test.Server, prefix string) s3.Config {
	return s3.Config{
		Endpoint: "http://s3.test", Region: s3test.Region, Bucket: s3test.Bucket, Prefix: prefix,
		AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey, Dial: server.Dial,
	}
}

func open(t *testing.T, c s3.Config, folder string) *s3.Bucket {
	t.Helper()
	b, err := s3.Open(c, folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestContract(t *testing.T) {
	server := s3test.Start(t, "")
	for name, prefix := range map[string]string{"WithPrefix": "clusters/prague", "WithoutPrefix": ""} {
		t.Run(name, func(t *testing.T) {
			archivetest.Contract(t, func(t *testing.T, folder string) archive.Bucket {
				return open(t, config(server, prefix), folder)
			})
		})
	}
}

// TestManyFiles: a list has more than one page.
func TestManyFiles(t *testing.T) {
	server := s3test.Start(t, "")
	b := open(t, config(server, ""), "shop/c1")
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := range 300 {
				if err := b.Put(t.Context(), "chunks/ab/"+strings.Repeat("x", worker+1)+"-"+string(rune('a'+i%26))+strings.Repeat("y", i/26), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if names, err := b.List(t.Context(), "chunks"); err != nil || len(names) != 1200 {
		t.Errorf("there are %d files: %v", len(names), err)
	}
}

// TestClaim: one store has a place, also when several come at once; and it has it again.
func TestClaim(t *testing.T) {
	server := s3test.Start(t, "")
	won := atomic.Int32{}
	var wait sync.WaitGroup
	for _, owner := range []string{"age1a", "age1b", "age1c", "age1d"} {
		wait.Go(func() {
			b := open(t, config(server, "p"), ".")
			err := b.Claim(t.Context(), owner)
			for err != nil && strings.Contains(err.Error(), "although it was written") { // as the next look does
				err = b.Claim(t.Context(), owner)
			}
			switch {
			case err == nil:
				won.Add(1)
				if err := b.Claim(t.Context(), owner); err != nil {
					t.Errorf("again: %v", err)
				}
			case !strings.Contains(err.Error(), "belongs to another backup store; choose another prefix"):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if won.Load() != 1 {
		t.Errorf("%d stores have the place", won.Load())
	}
}

// TestRefused: what is wrong is said, with nothing secret in it.
func TestRefused(t *testing.T) {
	server := s3test.Start(t, "")
	for name, tc := range map[string]struct {
		change func(*s3.Config)
		want   string
	}{
		"Secret": {func(c *s3.Config) { c.SecretAccessKey = "other-secret" }, "the server answers 403 SignatureDoesNotMatch"},
		"Key":    {func(c *s3.Config) { c.AccessKeyID = "other" }, "the server answers 4"},
		"Bucket": {func(c *s3.Config) { c.Bucket = "elsewhere" }, "the server answers 404 NoSuchBucket"},
		"TLS":    {func(c *s3.Config) { c.Endpoint = "https://s3.test" }, "HTTP response to HTTPS client"},
		"CA":     {func(c *s3.Config) { c.CABundle = "-----BEGIN CERTIFICATE-----" }, "caBundle: there is no certificate"},
		"URL":    {func(c *s3.Config) { c.Endpoint = "s3.test" }, "is no URL of a server"},
		"Closed": {func(c *s3.Config) {
			c.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("that is closed") }
		}, "that is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(server, "")
			tc.change(&c)
			b, err := s3.Open(c, ".")
			if err == nil {
				err = b.Claim(t.Context(), "age1a")
			}
			if err == nil || errors.Is(err, archive.ErrNotFound) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v; want one with %q", err, tc.want)
			}
		})
	}
}

func modified(w http.ResponseWriter) {
	w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
}

// TestAuthorities: a server is who the authorities of the store say, and no other one.
func TestAuthorities(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	c := s3.Config{
		Endpoint: "https://example.com", Region: "r", Bucket: "vault", AccessKeyID: "a", SecretAccessKey: "b",
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	}
	if _, err := open(t, c, "shop").Get(t.Context(), "x", 9); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("a server of an unknown authority: got %v", err)
	}
	c.CABundle = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if _, err := open(t, c, "shop").Get(t.Context(), "x", 9); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("a server of the store's authority: got %v", err)
	}
	c.Endpoint = "https://other.test"
	if _, err := open(t, c, "shop").Get(t.Context(), "x", 9); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("a server of another name: got %v", err)
	}
}

// TestHostileServer: a server that lies, floods, redirects or fails costs an error.
func TestHostileServer(t *testing.T) {
	asked, elsewhere := atomic.Int32{}, atomic.Int32{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /vault/shop/flood", func(w http.ResponseWriter, _ *http.Request) {
		modified(w)
		for range 200 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("GET /vault/shop/short", func(w http.ResponseWriter, _ *http.Request) {
		modified(w)
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
	})
	mux.HandleFunc("GET /vault/shop/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://s3.test/vault/shop/elsewhere", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("GET /vault/shop/elsewhere", func(w http.ResponseWriter, _ *http.Request) { elsewhere.Add(1) })
	mux.HandleFunc("GET /vault/shop/failing", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "<Error><Code>Internal\x1b[31mError</Code><Message>"+strings.Repeat("no ", 5000)+"</Message></Error>")
	})
	mux.HandleFunc("GET /vault/shop/page", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>a proxy</html>")
	})
	listed := `<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>NAME</Key><Size>1</Size></Contents></ListBucketResult>`
	name := "other/backups/b1"
	mux.HandleFunc("GET /vault/{$}", func(w http.ResponseWriter, _ *http.Request) {
		if name == "" {
			_, _ = io.WriteString(w, "<ListBucketResult>"+strings.Repeat("<Contents><Key>x</Key></Contents>", 1<<19))
			return
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(listed, "NAME", name))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c := s3.Config{
		Endpoint: "http://s3.test", Region: "r", Bucket: "vault", AccessKeyID: "a", SecretAccessKey: "b",
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	}
	b := open(t, c, "shop")
	for file, want := range map[string]string{
		"flood": "has more than", "short": "unexpected EOF", "moved": "the server answers 307", "failing": "the server answers 500", "page": "the server answers 502",
	} {
		data, err := b.Get(t.Context(), file, 64<<20)
		if err == nil || errors.Is(err, archive.ErrNotFound) || !strings.Contains(err.Error(), want) || strings.ContainsRune(err.Error(), '\x1b') || len(err.Error()) > 500 {
			t.Errorf("%s: got %d bytes and %v; want %q", file, len(data), err, want)
		}
	}
	if asked.Load() > 4 || elsewhere.Load() > 0 {
		t.Errorf("asked %d times, and %d times where it was redirected to", asked.Load(), elsewhere.Load())
	}
	if names, err := b.List(t.Context(), "backups"); err == nil || !strings.Contains(err.Error(), "tells of files elsewhere") {
		t.Errorf("got %q, %v", names, err)
	}
	for _, outside := range []string{"shop/backups/../../x", "shop/backups//x", "shop/backups/.x"} {
		name = outside
		if names, err := b.List(t.Context(), "backups"); err != nil || len(names) > 0 {
			t.Errorf("%s: got %q, %v", outside, names, err)
		}
	}
	name = ""
	if names, err := b.List(t.Context(), "backups"); err == nil || !strings.Contains(err.Error(), "more than can be meant") {
		t.Errorf("an endless list: got %d names, %v", len(names), err)
	}
}
