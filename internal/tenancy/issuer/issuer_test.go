package issuer

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

const (
	testURL      = "https://issuer.kqueen.test"
	testAudience = "kqueen.io/cluster/0a1b2c3d-0000-4000-8000-000000000001"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// served is an issuer behind a real HTTP server, and the file that its keys are in.
type served struct {
	*Issuer
	clock *clock
	file  []byte
	url   string
}

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{clock: &clock{start}}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	i, err := New(Config{URL: testURL, Base: "https" + strings.TrimPrefix(server.URL, "http") + "/issuer", Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	s.Issuer = i
	mux.Handle("/issuer/", http.StripPrefix("/issuer", i.Handler()))
	s.renew(t)
	return s
}

func (s *served) renew(t *testing.T) time.Time {
	t.Helper()
	next, err := s.Renew(s.file, func(data []byte) error { s.file = data; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// verify is what a stranger makes of a token: one who knows the issuer's keys by its handler alone.
func (s *served) verify(t *testing.T, token string) (*oidc.IDToken, error) {
	t.Helper()
	keys := oidc.NewRemoteKeySet(t.Context(), s.url+"/issuer/keys")
	config := &oidc.Config{ClientID: testAudience, SupportedSigningAlgs: []string{oidc.ES256}, Now: s.clock.Now}
	return oidc.NewVerifier(testURL, keys, config).Verify(t.Context(), token)
}

func claims() Claims {
	return Claims{Subject: "alice@example.com", UID: "u-1", Groups: []string{"view", "edit", "view"}, Audience: testAudience, ID: "c-1"}
}

func TestSignedTokenSaysWhatWasAsked(t *testing.T) {
	s := serve(t)
	token, expiry, err := s.Sign(claims())
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.verify(t, token)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := id.Claims(&got); err != nil {
		t.Fatal(err)
	}
	seconds := func(t time.Time) float64 { return float64(t.Unix()) }
	want := map[string]any{
		"iss": testURL, "sub": "alice@example.com", "aud": testAudience, "jti": "c-1", "uid": "u-1", "groups": []any{"edit", "view"},
		"iat": seconds(start), "nbf": seconds(start.Add(-skew)), "exp": seconds(start.Add(DefaultLifetime)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if !expiry.Equal(start.Add(DefaultLifetime)) {
		t.Errorf("expiry: want %s, got %s", start.Add(DefaultLifetime), expiry)
	}
	s.clock.now = start.Add(DefaultLifetime + time.Second)
	if _, err := s.verify(t, token); err == nil {
		t.Error("the token is taken when it has expired")
	}
}

func TestSignRefuses(t *testing.T) {
	s := serve(t)
	tests := map[string]struct {
		reason string
		alter  func(*Claims)
		want   string // of the error; empty for none
	}{
		"Good":         {"", func(*Claims) {}, ""},
		"Least":        {"", func(c *Claims) { *c = Claims{Subject: "a", Audience: "b", ID: "c"} }, ""},
		"Shortest":     {"", func(c *Claims) { c.Lifetime = MinLifetime }, ""},
		"Longest":      {"", func(c *Claims) { c.Lifetime = MaxLifetime }, ""},
		"TooShort":     {"It would expire on the way.", func(c *Claims) { c.Lifetime = MinLifetime - 1 }, "lifetime: 9m59.999999999s: must be from 10m0s to 24h0m0s"},
		"TooLong":      {"It cannot be taken back.", func(c *Claims) { c.Lifetime = MaxLifetime + 1 }, "lifetime: 24h"},
		"Negative":     {"", func(c *Claims) { c.Lifetime = -time.Hour }, "lifetime: -1h"},
		"NoSubject":    {"", func(c *Claims) { c.Subject = "" }, "subject: 0 bytes long"},
		"NoAudience":   {"Every cluster would take it.", func(c *Claims) { c.Audience = "" }, "audience: 0 bytes long"},
		"NoID":         {"It could not be found in a log.", func(c *Claims) { c.ID = "" }, "id: 0 bytes long"},
		"LongSubject":  {"", func(c *Claims) { c.Subject = strings.Repeat("x", 254) }, "subject: 254 bytes long"},
		"SystemUser":   {"Kubernetes' own.", func(c *Claims) { c.Subject = "system:admin" }, "subject: \"system:admin\": names that begin"},
		"SystemGroup":  {"Kubernetes' own.", func(c *Claims) { c.Groups = []string{"view", "system:masters"} }, "groups[1]: \"system:masters\""},
		"Line":         {"It could fake a line of a log.", func(c *Claims) { c.Subject = "a\nb" }, "printable"},
		"NotText":      {"JSON would make something else of it.", func(c *Claims) { c.Subject = "a\xff" }, "printable"},
		"EmptyGroup":   {"", func(c *Claims) { c.Groups = []string{""} }, "groups[0]"},
		"ManyGroups":   {"", func(c *Claims) { c.Groups = slices.Repeat([]string{"g"}, maxGroups+1) }, "groups: there are 65"},
		"SeveralWrong": {"All are named.", func(c *Claims) { c.Subject, c.ID = "", "" }, "id: 0 bytes long"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := claims()
			tc.alter(&c)
			token, _, err := s.Sign(c)
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) || (token == "") != (err != nil) {
				t.Errorf("%s want error %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestKeysChangeUnderTokens: a token is taken from when it is signed until it expires, through a change of keys, by
// those who ask for the keys now and by those who asked a minute ago.
func TestKeysChangeUnderTokens(t *testing.T) {
	s := serve(t)
	sign := func() string {
		t.Helper()
		c := claims()
		c.Lifetime = MaxLifetime
		token, _, err := s.Sign(c)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	first := s.file
	s.clock.now = start.Add(keyPeriod - publishLead)
	old := sign()
	s.renew(t)
	if bytes.Equal(first, s.file) {
		t.Fatal("a new key was not written")
	}
	remembered := s.published(t)
	if len(remembered) != 2 {
		t.Fatalf("want two keys to be published, got %v", remembered)
	}
	if got := keyOf(t, sign()); got != keyOf(t, old) {
		t.Error("the new key signs and was published just now")
	}
	s.clock.now = start.Add(keyPeriod)
	last := start.Add(keyPeriod).Add(-time.Second)
	s.clock.now = last
	oldest := sign()
	s.clock.now = start.Add(keyPeriod)
	young := sign()
	if keyOf(t, young) == keyOf(t, old) || !slices.Contains(remembered, keyOf(t, young)) {
		t.Error("want the second key, which was published before")
	}
	s.clock.now = last.Add(MaxLifetime - time.Second)
	s.renew(t)
	for name, token := range map[string]string{"the last of the old key": oldest, "of the new key": young} {
		if _, err := s.verify(t, token); err != nil {
			t.Errorf("a token %s is refused: %v", name, err)
		}
	}
	s.clock.now = start.Add(keyPeriod + afterlife)
	s.renew(t)
	if got := s.published(t); len(got) != 1 || got[0] != keyOf(t, young) {
		t.Errorf("want the old key to be gone, got %v", got)
	}
}

// published returns the ids of the keys that the handler shows.
func (s *served) published(t *testing.T) []string {
	t.Helper()
	var set jose.JSONWebKeySet
	s.get(t, "/issuer/keys", &set)
	var ids []string
	for _, k := range set.Keys {
		if _, public := k.Key.(*ecdsa.PublicKey); !public || k.Use != "sig" || k.Algorithm != "ES256" {
			t.Errorf("key %s: want a public key for signatures by ES256, got %T %s %s", k.KeyID, k.Key, k.Use, k.Algorithm)
		}
		ids = append(ids, k.KeyID)
	}
	return ids
}

func (s *served) get(t *testing.T, path string, into any) http.Header {
	t.Helper()
	resp := s.do(t, http.MethodGet, path)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", path, resp.StatusCode, err)
	}
	if bytes.Contains(data, []byte(`"d":`)) || bytes.Contains(data, []byte("private")) {
		t.Fatalf("GET %s shows a private key", path)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return resp.Header
}

func (s *served) do(t *testing.T, method, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func keyOf(t *testing.T, token string) string {
	t.Helper()
	parsed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Signatures[0].Header.KeyID
}

func TestHandler(t *testing.T) {
	s := serve(t)
	var got map[string]any
	header := s.get(t, "/issuer/.well-known/openid-configuration", &got)
	want := map[string]any{
		"issuer": testURL, "jwks_uri": "https" + strings.TrimPrefix(s.url, "http") + "/issuer/keys",
		"response_types_supported": []any{"id_token"}, "subject_types_supported": []any{"public"}, "id_token_signing_alg_values_supported": []any{"ES256"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("discovery (-want +got):\n%s", diff)
	}
	if s.DiscoveryURL() != "https"+strings.TrimPrefix(s.url, "http")+"/issuer/.well-known/openid-configuration" || s.URL() != testURL {
		t.Errorf("URLs: %s, %s", s.DiscoveryURL(), s.URL())
	}
	var set jose.JSONWebKeySet
	keysHeader := s.get(t, "/issuer/keys", &set)
	for name, h := range map[string]http.Header{"application/json": header, "application/jwk-set+json": keysHeader} {
		if h.Get("Content-Type") != name || h.Get("Cache-Control") != "public, max-age=60" {
			t.Errorf("header: want %s for a minute, got %v", name, h)
		}
	}
	tests := map[string]int{
		"HEAD /issuer/keys": 200, "HEAD /issuer/.well-known/openid-configuration": 200, "POST /issuer/keys": 405, "DELETE /issuer/keys": 405,
		"GET /issuer/": 404, "GET /issuer/keys/": 404, "PUT /issuer/.well-known/openid-configuration": 405, "GET /issuer/.well-known/": 404,
	}
	for request, want := range tests {
		method, path, _ := strings.Cut(request, " ")
		resp := s.do(t, method, path)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: want %d, got %d", request, want, resp.StatusCode)
		}
	}
}

func TestWithoutKeys(t *testing.T) {
	i, err := New(Config{URL: testURL, Base: testURL + "/issuer", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := i.Sign(claims()); err == nil {
		t.Error("want no token")
	}
	recorder := httptest.NewRecorder()
	i.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/keys", nil))
	if recorder.Code != http.StatusServiceUnavailable || recorder.Header().Get("Cache-Control") != "" {
		t.Errorf("want 503 that no cache keeps, got %d %v", recorder.Code, recorder.Header())
	}
}

// TestKeyThatIsNotKeptIsNotUsed: what a crash would lose signs nothing and is not shown.
func TestKeyThatIsNotKeptIsNotUsed(t *testing.T) {
	s := serve(t)
	before := s.published(t)
	s.clock.now = start.Add(keyPeriod)
	full := errors.New("the disk is full")
	if _, err := s.Renew(s.file, func([]byte) error { return full }); !errors.Is(err, full) {
		t.Errorf("want %v, got %v", full, err)
	}
	if diff := cmp.Diff(before, s.published(t)); diff != "" {
		t.Errorf("keys (-before +after):\n%s", diff)
	}
}

// TestRenewWritesOnlyChanges, and what it wrote is what a second process goes on with.
func TestRenewWritesOnlyChanges(t *testing.T) {
	s := serve(t)
	again := func() error {
		_, err := s.Renew(s.file, func([]byte) error { return errors.New("it was written") })
		return err
	}
	if err := again(); err != nil {
		t.Error(err)
	}
	other, err := New(Config{URL: testURL, Base: testURL, Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Renew(s.file, func([]byte) error { return errors.New("it was written") }); err != nil {
		t.Fatal(err)
	}
	token, _, err := other.Sign(claims())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.verify(t, token); err != nil {
		t.Errorf("a token of the other process: %v", err)
	}
}

func TestNewNamesTheFieldThatIsWrong(t *testing.T) {
	for _, bad := range []string{"", "http://a.test", "https://", "https://a.test/", "https://u@a.test", "https://a.test?x=1", "https://a.test#x", "a.test"} {
		if _, err := New(Config{URL: bad, Base: testURL, Now: time.Now}); err == nil || !strings.Contains(err.Error(), "url:") {
			t.Errorf("url %q: got %v", bad, err)
		}
		if _, err := New(Config{URL: testURL, Base: bad, Now: time.Now}); err == nil || !strings.Contains(err.Error(), "base:") {
			t.Errorf("base %q: got %v", bad, err)
		}
	}
}

func TestKeysDoNotPrint(t *testing.T) {
	s := serve(t)
	keys := *s.keys.Load()
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, keys); got != "issuer.keySet["+keys[0].id+"]" {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

// FuzzDecode: what is accepted signs and is written again as it was; nothing that is refused is repeated in the error.
func FuzzDecode(f *testing.F) {
	keys, _, err := keySet(nil).renew(start)
	if err != nil {
		f.Fatal(err)
	}
	if keys, _, err = keys.renew(start.Add(keyPeriod)); err != nil {
		f.Fatal(err)
	}
	good, err := keys.encode()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{
		good, nil, []byte("{}"), []byte(`{"keys":[]}`), []byte(`{"keys":[{}]}`), good[:len(good)/2],
		bytes.ReplaceAll(good, []byte(keys[0].id), []byte("short")), bytes.ReplaceAll(good, []byte(keys[0].id), []byte(keys[1].id)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(data)
		if err != nil {
			if got != nil || len(err.Error()) > 300 {
				t.Errorf("keys %v with a long error: %v", got, err)
			}
			return
		}
		if len(got) == 0 {
			if len(data) != 0 {
				t.Error("no keys were read of something")
			}
			return
		}
		i := &Issuer{url: testURL, base: testURL, now: func() time.Time { return start }}
		i.keys.Store(&got)
		if _, _, err := i.Sign(claims()); err != nil {
			t.Errorf("accepted keys do not sign: %v", err)
		}
		out, err := got.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(out)
		if err != nil || !slices.EqualFunc(got, again, func(a, b key) bool {
			return a.id == b.id && a.signs.Equal(b.signs) && a.private.Equal(b.private)
		}) {
			t.Errorf("written and read again they differ: %v", err)
		}
	})
}
