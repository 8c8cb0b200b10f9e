package portal

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func packed(t *testing.T, text string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func ask(t *testing.T, files fstest.MapFS, path, accept string) *http.Response {
	t.Helper()
	mux := http.NewServeMux()
	Register(mux, files)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header.Set("Accept-Encoding", accept)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w.Result()
}

func TestServe(t *testing.T) {
	files := fstest.MapFS{
		"index.html.gz":      packed(t, "the page"),
		"assets/app-1.js.gz": packed(t, "the script"),
		"assets/font.woff2":  {Data: []byte("font")},
		"favicon.svg.gz":     packed(t, "<svg/>"),
	}
	const forever, never = "public, max-age=31536000, immutable", "no-cache"
	cases := map[string]struct {
		path, accept        string
		status              int
		body, kind, control string
	}{
		"the page":             {"/portal/", "", 200, "the page", "text/html; charset=utf-8", never},
		"a page of the portal": {"/portal/organizations/blue/clusters/web.example", "br, gzip", 200, "the page", "text/html; charset=utf-8", never},
		"a script":             {"/portal/assets/app-1.js", "gzip;q=0.5", 200, "the script", "text/javascript; charset=utf-8", forever},
		"gzip is not wanted":   {"/portal/assets/app-1.js", "gzip;q=0, identity", 200, "the script", "text/javascript; charset=utf-8", forever},
		"not compressed":       {"/portal/assets/font.woff2", "gzip", 200, "font", "font/woff2", forever},
		"an image":             {"/portal/favicon.svg", "", 200, "<svg/>", "image/svg+xml", never},
		"of another version":   {"/portal/assets/app-0.js", "gzip", 404, "", "application/problem+json", ""},
		"a folder":             {"/portal/assets/", "gzip", 404, "", "application/problem+json", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := ask(t, files, c.path, c.accept)
			defer a.Body.Close()
			body := io.Reader(a.Body)
			zipped := a.Header.Get("Content-Encoding") == "gzip"
			if zipped != (c.status == http.StatusOK && acceptsGzip(c.accept) && c.body != "font") {
				t.Errorf("compressed: %t", zipped)
			}
			if zipped {
				unpacked, err := gzip.NewReader(body)
				if err != nil {
					t.Fatal(err)
				}
				body = unpacked
			}
			got, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			if a.StatusCode != c.status || c.status == http.StatusOK && string(got) != c.body || a.Header.Get("Content-Type") != c.kind || a.Header.Get("Cache-Control") != c.control {
				t.Errorf("%d %q %s %s", a.StatusCode, got, a.Header.Get("Content-Type"), a.Header.Get("Cache-Control"))
			}
			said := a.Header.Get("Content-Security-Policy")
			if strings.Contains(strings.ReplaceAll(said, "style-src 'self' 'unsafe-inline'", ""), "unsafe") || strings.Contains(said, "http") || !strings.HasPrefix(said, "default-src 'none'") {
				t.Errorf("the policy is %q", said)
			}
		})
	}
}

// TestUnbuilt: a program without the portal says how to get one with it.
func TestUnbuilt(t *testing.T) {
	a := ask(t, fstest.MapFS{".gitkeep": {}}, "/portal/", "gzip")
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "make portal") {
		t.Errorf("%d %s %v", a.StatusCode, body, err)
	}
}
