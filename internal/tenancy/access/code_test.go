package access

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

const codeVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // of RFC 7636, appendix B

var codeRequest = CodeRequest{
	RedirectURI: "http://127.0.0.1:51004/callback", Challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", Method: "S256",
	Client: "kqueen on build-7",
}

func TestCode(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice", Admin: true})
	alice, _ := enter(t, s, "alice")
	code := must[OneTime](t)(s.Codes.Create(t.Context(), alice, codeRequest))
	wantOne(t, ErrInvalidGrant, func(int) error {
		issued, err := s.Codes.Exchange(t.Context(), code.Token.Reveal(), codeVerifier, codeRequest.RedirectURI)
		if err != nil {
			return err
		}
		id, err := s.Credentials.Authenticate(t.Context(), issued.Token.Reveal())
		if id.Name != "alice" || !id.Admin || id.Credential.Kind != Session || issued.Name != "kqueen on build-7" {
			t.Errorf("got %+v", id)
		}
		return err
	})
}

func TestCodeRefused(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	alice, _ := enter(t, s, "alice")
	tests := map[string]struct {
		verifier, redirect string
		wait               time.Duration
	}{
		"Verifier": {strings.Repeat("a", 43), codeRequest.RedirectURI, 0},
		"Empty":    {"", codeRequest.RedirectURI, 0},
		"Plain":    {codeRequest.Challenge, codeRequest.RedirectURI, 0},
		"Redirect": {codeVerifier, "http://127.0.0.1:51005/callback", 0},
		"Late":     {codeVerifier, codeRequest.RedirectURI, codeLife},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code := must[OneTime](t)(s.Codes.Create(t.Context(), alice, codeRequest))
			c.pass(tc.wait)
			_, err := s.Codes.Exchange(t.Context(), code.Token.Reveal(), tc.verifier, tc.redirect)
			wantError(t, "first", err, ErrInvalidGrant)
			_, err = s.Codes.Exchange(t.Context(), code.Token.Reveal(), codeVerifier, codeRequest.RedirectURI)
			wantError(t, "a second try with what is right", err, ErrInvalidGrant)
		})
	}
	reset := must[OneTime](t)(s.Passwords.Reset(t.Context(), "alice"))
	_, err := s.Codes.Exchange(t.Context(), reset.Token.Reveal(), codeVerifier, codeRequest.RedirectURI)
	wantError(t, "a token for something else", err, ErrInvalidGrant)
	for _, field := range []func(*CodeRequest){
		func(r *CodeRequest) { r.Method = "plain" }, func(r *CodeRequest) { r.Challenge = "short" },
		func(r *CodeRequest) { r.RedirectURI = "https://evil.example.com/" },
	} {
		request := codeRequest
		field(&request)
		if _, err := s.Codes.Create(t.Context(), alice, request); err == nil {
			t.Errorf("took %+v", request)
		}
	}
}

func TestCheckRedirect(t *testing.T) {
	tests := map[string]string{ // to what is wrong
		"http://127.0.0.1:1/":                 "",
		"http://[::1]:65535/callback":         "",
		"http://127.0.0.1:51004":              "",
		"http://localhost:51004/":             "does not lead to this machine",
		"http://127.0.0.1.evil.example:80/":   "does not lead to this machine",
		"http://127.0.0.1@evil.example:80/":   "does not lead to this machine",
		"http://user@127.0.0.1:80/":           "more than an address and a path",
		"http://127.0.0.1/":                   "has no port",
		"http://127.0.0.1:0/":                 "has no port",
		"http://127.0.0.1:80/?a=b":            "more than an address and a path",
		"http://127.0.0.1:80/#a":              "more than an address and a path",
		"https://127.0.0.1:80/":               "scheme is not http",
		"javascript:alert(1)":                 "scheme is not http",
		"http:127.0.0.1:80":                   "scheme is not http",
		"//127.0.0.1:80/":                     "scheme is not http",
		"http://127.1:80/":                    "does not lead to this machine",
		"http://[::ffff:127.0.0.1]:80/":       "does not lead to this machine",
		"http://0x7f000001:80/":               "does not lead to this machine",
		"http://127.0.0.1:80\\@evil.example/": "no URL",
		"":                                    "scheme is not http",
		"http://127.0.0.1:80/a b":             "a character that such an address does not need",
		"http://127.0.0.1:080/":               "a character that such an address does not need",
		"http://127.0.0.1:80/%0d%0a":          "a character that such an address does not need",
	}
	for uri, want := range tests {
		err := checkRedirect(uri)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", uri, err)
			}
			continue
		}
		wantInvalid(t, err, "redirectURI", want)
	}
}

// FuzzCheckRedirect: what is taken leads to this machine, for browsers too, which read addresses in their own way.
func FuzzCheckRedirect(f *testing.F) {
	f.Add("http://127.0.0.1:51004/callback")
	f.Add("http://[::1]:51004")
	f.Add("http://127.0.0.1:80@evil.example.com/")
	f.Fuzz(func(t *testing.T, uri string) {
		if checkRedirect(uri) != nil {
			return
		}
		rest, ok := strings.CutPrefix(strings.ToLower(uri), "http://127.0.0.1:")
		if !ok {
			rest, ok = strings.CutPrefix(strings.ToLower(uri), "http://[::1]:")
		}
		port, _, _ := strings.Cut(rest, "/")
		if _, err := strconv.ParseUint(port, 10, 16); !ok || err != nil || strings.ContainsAny(uri, "\\\r\n\t ?#@") {
			t.Errorf("took %q", uri)
		}
	})
}
