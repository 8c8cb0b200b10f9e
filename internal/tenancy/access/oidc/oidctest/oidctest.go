// Package oidctest is a real OpenID Connect provider for tests: HTTPS, discovery, keys, the authorization code flow
// with PKCE, and ID tokens that it signs.
//
// It is as strict as a good one, and can be told to be as wrong as a bad one. Tests of signing in may import it.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The client that the provider knows.
const (
	ClientID     = "kqueen"
	ClientSecret = "marker-client-secret"
)

// Issuer is a provider. Its fields may be changed between two sign-ins, not during one.
type Issuer struct {
	// URL and CA are what a client is told.
	URL, CA string
	// Claims go into the next ID tokens, over those that every token has. A nil value leaves a claim out.
	Claims map[string]any
	// Sign makes the token of claims; nil signs with the current key.
	Sign func(payload []byte) string
	// Answer answers a path instead of the provider when it returns true.
	Answer func(w http.ResponseWriter, r *http.Request) bool

	now func() time.Time

	mu    sync.Mutex
	keys  []jose.JSONWebKey // the last one signs
	codes map[string]url.Values
	calls map[string]int
}

// New starts a provider that ends with the test.
func New(t *testing.T, now func() time.Time) *Issuer {
	t.Helper()
	i := &Issuer{now: now, Claims: map[string]any{}, codes: map[string]url.Values{}, calls: map[string]int{}}
	i.Rotate(t)
	server := httptest.NewTLSServer(i)
	t.Cleanup(server.Close)
	i.URL = server.URL
	i.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return i
}

// Rotate makes a new key, which signs from now on. The one before is published no more.
func (i *Issuer) Rotate(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = []jose.JSONWebKey{{Key: key, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}}
}

// Key is the one that signs.
func (i *Issuer) Key() jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[len(i.keys)-1]
}

// Calls says how often a path was asked for.
func (i *Issuer) Calls(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.calls[path]
}

// Browse is a browser whose user agrees: it follows the address of an authorization and returns the query with which
// the provider sends it back.
func (i *Issuer) Browse(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	i.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, u.RequestURI(), nil))
	back, err := answer.Result().Location()
	if err != nil {
		t.Fatalf("the provider took %s for nothing: %d %s", address, answer.Code, answer.Body)
	}
	return back.Query()
}

// Compact signs a payload. A nil key makes a token that is not signed, with the algorithm "none".
func Compact(t *testing.T, algorithm jose.SignatureAlgorithm, key any, kid string, payload []byte) string {
	t.Helper()
	if key == nil {
		header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
		return header + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Hash is at_hash of an access token, for tokens that are signed with SHA-256 (OpenID Connect Core 1.0, 3.1.3.6).
func Hash(accessToken string) string {
	sum := sha256.Sum256([]byte(accessToken))
	return base64.RawURLEncoding.EncodeToString(sum[:crypto.SHA256.Size()/2])
}

// AccessToken is the one that comes with every ID token.
const AccessToken = "marker-access-token"

// ServeHTTP is the provider.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.calls[r.URL.Path]++
	i.mu.Unlock()
	if i.Answer != nil && i.Answer(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		reply(w, http.StatusOK, i.Document())
	case "/keys":
		i.mu.Lock()
		defer i.mu.Unlock()
		var set jose.JSONWebKeySet
		for _, key := range i.keys {
			set.Keys = append(set.Keys, key.Public())
		}
		reply(w, http.StatusOK, set)
	case "/authorize":
		i.authorize(w, r)
	case "/token":
		i.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

// Document is what discovery says.
func (i *Issuer) Document() map[string]any {
	return map[string]any{
		"issuer":                                i.URL,
		"authorization_endpoint":                i.URL + "/authorize",
		"token_endpoint":                        i.URL + "/token",
		"jwks_uri":                              i.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256", "RS256", "HS256", "none"},
	}
}

func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("state") == "" ||
		q.Get("nonce") == "" || q.Get("code_challenge") == "" || q.Get("code_challenge_method") != "S256" {
		http.Error(w, "want another request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := "marker-code-" + rand.Text()
	i.mu.Lock()
	i.codes[code] = q
	i.mu.Unlock()
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound) //nolint:gosec // any client is sent back in a test
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id != ClientID || secret != ClientSecret {
		reply(w, http.StatusUnauthorized, map[string]string{
			"error": "invalid_client", "error_description": fmt.Sprintf("no client %q with the secret %q", id, secret),
		})
		return
	}
	code := r.PostFormValue("code")
	i.mu.Lock()
	asked, ok := i.codes[code]
	delete(i.codes, code)
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") ||
		r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		reply(w, http.StatusBadRequest, map[string]string{
			"error": "invalid_grant", "error_description": fmt.Sprintf("the code %q is not valid with %q", code, r.PostFormValue("code_verifier")),
		})
		return
	}
	signed, err := i.idToken(asked)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	reply(w, http.StatusOK, map[string]any{"access_token": AccessToken, "token_type": "Bearer", "expires_in": 60, "id_token": signed})
}

func (i *Issuer) idToken(asked url.Values) (string, error) {
	claims := map[string]any{
		"iss": i.URL, "aud": ClientID, "sub": "1234", "nonce": asked.Get("nonce"), "at_hash": Hash(AccessToken),
		"iat": i.now().Unix(), "exp": i.now().Add(time.Minute).Unix(),
	}
	if asked.Has("max_age") { // the user has just been asked
		claims["auth_time"] = i.now().Unix()
	}
	maps.Copy(claims, i.Claims)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	if i.Sign != nil {
		return i.Sign(payload), nil
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.Key()}, nil)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

func reply(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) //nolint:errchkjson // the client sees that it is cut off
}
