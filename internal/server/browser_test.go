package server

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// browser keeps cookies and fills in forms. It follows nothing by itself.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
	// last is the page that it shows.
	last sight
	// origin and site are what it says of where a form comes from.
	origin, site string
}

// sight is what came back.
type sight struct {
	status int
	header http.Header
	body   string
}

func (s sight) location() string { return s.header.Get("Location") }

// front serves the API by HTTPS, without which browsers keep no cookies of ours.
func (h *fixture) front(t *testing.T) *httptest.Server {
	t.Helper()
	front := httptest.NewTLSServer(h.api)
	t.Cleanup(front.Close)
	return front
}

func newBrowser(t *testing.T, front *httptest.Server) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := *front.Client()
	client.Jar = jar
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{t: t, base: front.URL, http: &client, origin: front.URL, site: "same-origin"}
}

// cookie is the value of one that it keeps.
func (b *browser) cookie(name string) string {
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.http.Jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func (b *browser) give(name, value string) {
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	b.http.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/", Secure: true}})
}

func (b *browser) drop(name string) {
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	b.http.Jar.SetCookies(u, []*http.Cookie{{Name: name, Path: "/", MaxAge: -1}})
}

func (b *browser) get(path string) sight { return b.do(http.MethodGet, path, nil) }

var proofs = regexp.MustCompile(`action="([^"]+)">\s*<input type="hidden" name="proof" value="([^"]+)">`)

// submit sends a form of the page that it shows. Pairs are its fields.
func (b *browser) submit(path string, pairs ...string) sight {
	b.t.Helper()
	form := url.Values{}
	for _, found := range proofs.FindAllStringSubmatch(b.last.body, -1) {
		if found[1] == path {
			form.Set("proof", found[2])
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return b.do(http.MethodPost, path, form)
}

func (b *browser) do(method, path string, form url.Values) sight {
	b.t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(b.t.Context()), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.origin)
		req.Header.Set("Sec-Fetch-Site", b.site)
	}
	req.Header.Set("User-Agent", "Firefox")
	req.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	s := sight{resp.StatusCode, resp.Header, string(data)}
	if s.header.Get("Location") == "" {
		b.last = s
	}
	return s
}

// signIn signs in a local user by the form.
func (b *browser) signIn(name string) {
	b.t.Helper()
	b.get("/signin")
	if s := b.submit("/signin", "name", name, "password", secret); s.status != http.StatusSeeOther || s.location() != "/portal/" {
		b.t.Fatalf("sign in as %s: %d %s %s", name, s.status, s.location(), s.body)
	}
}
