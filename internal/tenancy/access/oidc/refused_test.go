package oidc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/access/oidc/oidctest"
)

// claim is a change of one claim.
func claim(name string, value any) func(a *attempt) {
	return func(a *attempt) { a.issuer.Claims[name] = value }
}

// sign replaces the signature.
func sign(with func(a *attempt, payload []byte) string) func(a *attempt) {
	return func(a *attempt) { a.issuer.Sign = func(payload []byte) string { return with(a, payload) } }
}

// answer replaces the answer of one path.
func answer(path string, with func(a *attempt, w http.ResponseWriter)) func(a *attempt) {
	return func(a *attempt) {
		a.issuer.Answer = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == path {
				with(a, w)
			}
			return r.URL.Path == path
		}
	}
}

func text(status int, body string) func(*attempt, http.ResponseWriter) {
	return func(_ *attempt, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// publicPEM is what an attacker who makes the public key a secret of HMAC signs with.
func publicPEM(a *attempt) []byte {
	key := a.issuer.Key()
	raw, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw})
}

const discovery = "/.well-known/openid-configuration"

// document changes what discovery says.
func document(field string, value any) func(a *attempt) {
	return answer(discovery, func(a *attempt, w http.ResponseWriter) {
		d := a.issuer.Document()
		d[field] = value
		raw, err := json.Marshal(d)
		if err != nil {
			a.t.Error(err)
		}
		text(http.StatusOK, string(raw))(a, w)
	})
}

// refusal is what goes wrong before the browser comes back, and the reason.
type refusal struct {
	change func(a *attempt)
	want   string
}

func testRefused(t *testing.T, tests map[string]refusal) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := newAttempt(t).finish(tc.change)
			checkRefused(t, err, tc.want)
		})
	}
}

// TestClaimsRefused: each is refused with a reason that tells an engineer where to look, and no secret.
func TestClaimsRefused(t *testing.T) {
	late := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC).Unix()
	many := strings.Split(strings.Repeat("group ", 501), " ")
	testRefused(t, map[string]refusal{
		"Audience":        {claim("aud", "other"), `expected audience "kqueen" got ["other"]`},
		"NoAudience":      {claim("aud", nil), `expected audience "kqueen"`},
		"Authorized":      {claim("azp", "other"), `made for the client "other", by its claim azp, not for "kqueen"`},
		"NotAuthorized":   {claim("aud", []string{"kqueen", "other"}), `made for the client "", by its claim azp`},
		"AzpNumber":       {claim("azp", 7), `the claim azp is not a text`},
		"Issuer":          {claim("iss", "https://evil.example.com"), `issued by a different provider`},
		"Expired":         {claim("exp", late-7200), `the ID token expired at 2026-11-21T11:00:00Z; are the clocks right?`},
		"NoExpiry":        {claim("exp", nil), `the ID token expired at`},
		"NotYet":          {claim("nbf", late), `before the nbf (not before) time`},
		"MadeLater":       {claim("iat", late), `made at 2026-11-21T13:00:00Z, which is not yet`},
		"Nonce":           {claim("nonce", "other"), `another nonce`},
		"NoNonce":         {claim("nonce", nil), `another nonce`},
		"AccessToken":     {claim("at_hash", oidctest.Hash("other")), `names another access token`},
		"NoSubject":       {claim("sub", nil), `the claim sub is missing`},
		"EmptySubject":    {claim("sub", ""), `the claim sub is missing, empty`},
		"LongSubject":     {claim("sub", strings.Repeat("1", 256)), `longer than 255`},
		"NoName":          {claim("email", nil), `the claim email, which is the name, is empty`},
		"EmptyName":       {claim("email", ""), `the claim email, which is the name, is empty`},
		"NumberName":      {claim("email", 7), `the claim email is not a text`},
		"ControlName":     {claim("email", "alice\x00@example.com"), `cannot be printed`},
		"TurnedName":      {claim("email", "al\u202eice@example.com"), `cannot be printed`},
		"SpaceName":       {claim("email", "alice@example.com "), `begins or ends with a space`},
		"LongName":        {claim("email", strings.Repeat("a", 201)), `has 201 bytes, more than 200`},
		"Unverified":      {claim("email_verified", false), `email_verified is not true`},
		"NotSaidVerified": {claim("email_verified", nil), `email_verified is not true`},
		"NoGroups":        {claim("groups", nil), `the claim groups, which has the groups, is missing`},
		"NullGroups":      {claim("groups", json.RawMessage("null")), `the claim groups, which has the groups, is missing`},
		"NumberGroups":    {claim("groups", []any{"a", 7}), `is not a list of texts`},
		"EmptyGroup":      {claim("groups", []string{"a", ""}), `a group in the claim groups is empty`},
		"ControlGroup":    {claim("groups", []string{"a\nb"}), `a group in the claim groups has a character`},
		"LongGroup":       {claim("groups", []string{strings.Repeat("a", 201)}), `has 201 bytes`},
		"ManyGroups":      {claim("groups", many), `has 502 groups, more than 500`},
	})
}

func TestAnswersRefused(t *testing.T) {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	huge := strings.Repeat("x", 600<<10)
	testRefused(t, map[string]refusal{
		"AlgNone": {
			sign(func(a *attempt, p []byte) string { return oidctest.Compact(a.t, "", nil, "", p) }),
			`unexpected signature algorithm "none"`,
		},
		"HMACWithPublicKey": {
			sign(func(a *attempt, p []byte) string {
				return oidctest.Compact(a.t, jose.HS256, publicPEM(a), a.issuer.Key().KeyID, p)
			}),
			`unexpected signature algorithm "HS256"`,
		},
		"UnknownKey": {
			sign(func(a *attempt, p []byte) string { return oidctest.Compact(a.t, jose.ES256, stranger, "stranger", p) }),
			`failed to verify`,
		},
		"KnownNameOfAnotherKey": {
			sign(func(a *attempt, p []byte) string {
				return oidctest.Compact(a.t, jose.ES256, stranger, a.issuer.Key().KeyID, p)
			}),
			`failed to verify`,
		},
		"NoSignature": {sign(func(*attempt, []byte) string { return "marker" }), `malformed jwt`},
		"NoToken":     {sign(func(*attempt, []byte) string { return "" }), `gave no ID token; is the scope openid allowed`},

		"Verifier": {func(a *attempt) { a.secrets.Verifier = strings.Repeat("a", 43) }, `status 400 and "invalid_grant": the code "***" is not valid with "***"`},
		"Secret":   {func(a *attempt) { a.provider.ClientSecret = "marker-wrong" }, `status 401 and "invalid_client": no client "kqueen" with the secret "***"`},
		"Code":     {func(a *attempt) { a.callback.Code = "marker-code" }, `"invalid_grant"`},
		"NoCode":   {func(a *attempt) { a.callback.Code = "" }, `no authorization code`},
		"Denied": {func(a *attempt) {
			a.callback = oidc.Callback{Error: "access_denied", ErrorDescription: "the user\nsaid no"}
		}, `the provider says "access_denied": the user said no`},
		"MixedUp":    {func(a *attempt) { a.callback.Issuer = "https://evil.example.com" }, `came back from "https://evil.example.com"`},
		"TokenError": {answer("/token", text(http.StatusInternalServerError, "marker-code")), `status 500 and ""`},
		"TokenHTML":  {answer("/token", text(http.StatusOK, "<html>marker")), `the token endpoint: oauth2: cannot parse json`},
		"TokenEmpty": {answer("/token", text(http.StatusOK, "{}")), `missing access_token`},
		"TokenGiant": {answer("/token", text(http.StatusOK, huge)), `the token endpoint: its answer is larger than 512 KiB`},
		"TokenMoved": {answer("/token", func(a *attempt, w http.ResponseWriter) {
			http.Redirect(w, &http.Request{}, a.issuer.URL+"/keys", http.StatusFound)
		}), `status 302`},
		"KeysGiant":   {answer("/keys", text(http.StatusOK, huge)), `its answer is larger than 512 KiB`},
		"KeysMissing": {answer("/keys", text(http.StatusNotFound, "marker")), `it answered with status 404, not 200`},
		"KeysHTML":    {answer("/keys", text(http.StatusOK, "<html>marker")), `its answer is not JSON`},
		"KeysNone":    {answer("/keys", text(http.StatusOK, `{"keys":[]}`)), `failed to verify`},
		"ClaimsNoJSON": {sign(func(a *attempt, _ []byte) string {
			return oidctest.Compact(a.t, jose.ES256, a.issuer.Key().Key, a.issuer.Key().KeyID, []byte("[]"))
		}), `failed to unmarshal claims`},
	})
}

func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	var refused *oidc.RefusedError
	if !errors.As(err, &refused) || refused.Provider != "corp" || !strings.Contains(refused.Reason, want) {
		t.Fatalf("got %v; want %q", err, want)
	}
	if strings.Contains(err.Error(), "marker") || len(err.Error()) > 600 {
		t.Errorf("it repeats what it should not: %v", err)
	}
}

// TestDiscoveryRefused: the issuer is wrong before a user is sent there.
func TestDiscoveryRefused(t *testing.T) {
	huge := `"` + strings.Repeat("x", 600<<10) + `"`
	tests := map[string]struct {
		change func(a *attempt)
		want   string
	}{
		"Issuer":    {document("issuer", "https://other.example.com"), `calls itself "https://other.example.com"`},
		"Slash":     {func(a *attempt) { a.provider.Issuer += "/" }, `must be the same to the character`},
		"Missing":   {func(a *attempt) { a.provider.Issuer += "/realms/none" }, `it answered with status 404, not 200`},
		"Status":    {answer(discovery, text(http.StatusForbidden, "marker")), `it answered with status 403, not 200`},
		"HTML":      {answer(discovery, text(http.StatusOK, "<html>marker")), `its answer is not JSON`},
		"NoObject":  {answer(discovery, text(http.StatusOK, "[7]")), `failed to decode`},
		"Giant":     {answer(discovery, text(http.StatusOK, huge)), `its answer is larger than 512 KiB`},
		"HTTPToken": {document("token_endpoint", "http://127.0.0.1/token"), `token_endpoint is not an https address`},
		"HTTPKeys":  {document("jwks_uri", "http://127.0.0.1/keys"), `jwks_uri is not an https address`},
		"NoKeys":    {document("jwks_uri", nil), `jwks_uri is not an https address`},
		"OwnName":   {document("authorization_endpoint", "javascript:alert(1)"), `authorization_endpoint is not an https address`},
		"CA":        {func(a *attempt) { a.provider.CA = "" }, `its certificate is not trusted`},
		"Nobody":    {func(a *attempt) { a.provider.Issuer = "https://127.0.0.1:1" }, `connection refused`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			tc.change(a)
			_, err := a.client.Begin(t.Context(), a.provider, secrets, 0)
			checkRefused(t, err, tc.want)
		})
	}
}

// TestSlow: an issuer that does not answer costs no more than the deadline.
func TestSlow(t *testing.T) {
	for _, path := range []string{discovery, "/token", "/keys"} {
		t.Run(path, func(t *testing.T) {
			a := newAttempt(t)
			over := make(chan struct{})
			t.Cleanup(func() { close(over) }) // before the server is closed, which waits for its handlers
			slow := answer(path, func(_ *attempt, w http.ResponseWriter) {
				_, _ = w.Write([]byte("{"))
				w.(http.Flusher).Flush()
				<-over
			})
			a.client = oidc.NewClient(func() time.Time { return a.now }, 300*time.Millisecond)
			var err error
			if path == discovery {
				slow(a)
				_, err = a.client.Begin(t.Context(), a.provider, secrets, 0)
			} else {
				_, err = a.finish(slow)
			}
			checkRefused(t, err, "it did not answer in time")
		})
	}
}
