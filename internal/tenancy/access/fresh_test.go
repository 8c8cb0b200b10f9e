package access

import (
	"testing"
	"time"
)

// TestFresh: a session is fresh for a while after its user signed in, and what was made from it is no younger.
func TestFresh(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, first := enter(t, s, "alice")
	who := func(issued Issued) Identity {
		return must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal()))
	}
	whole := must[Issued](t)(s.Credentials.CreateToken(t.Context(), who(first), NewToken{Name: "ci", Expires: c.Now().Add(day)}))
	c.pass(FreshFor - time.Second)
	device := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	if err := s.Devices.Answer(t.Context(), who(first), device.UserCode, true, home); err != nil {
		t.Fatal(err)
	}
	code := must[OneTime](t)(s.Codes.Create(t.Context(), who(first), codeRequest))
	sessions := map[string]Issued{
		"signed in": first,
		"device":    must[Issued](t)(s.Devices.Poll(t.Context(), device.DeviceCode.Reveal())),
		"code":      must[Issued](t)(s.Codes.Exchange(t.Context(), code.Token.Reveal(), codeVerifier, codeRequest.RedirectURI)),
	}
	for name, issued := range sessions {
		if !who(issued).Fresh {
			t.Errorf("%s: it is not fresh", name)
		}
	}
	if who(whole).Fresh {
		t.Error("a token is fresh")
	}
	c.pass(time.Second)
	for name, issued := range sessions {
		by := who(issued)
		if by.Fresh {
			t.Errorf("%s: it is fresh for too long", name)
		}
		_, err := s.Credentials.CreateToken(t.Context(), by, NewToken{Name: "x", Expires: c.Now().Add(day)})
		wantError(t, name+": token", err, ErrNeedsFresh)
		_, err = s.Codes.Create(t.Context(), by, codeRequest)
		wantError(t, name+": code", err, ErrNeedsFresh)
		start := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
		wantError(t, name+": approve", s.Devices.Answer(t.Context(), by, start.UserCode, true, home), ErrNeedsFresh)
		wantError(t, name+": deny", s.Devices.Answer(t.Context(), by, start.UserCode, false, home), nil)
	}
	if _, again := enter(t, s, "alice"); !who(again).Fresh {
		t.Error("after signing in again it is not fresh")
	}
}

func TestGetCredential(t *testing.T) {
	s, c := open(t)
	for _, name := range []string{"alice", "bob"} {
		addUser(t, s, NewUser{Name: name})
	}
	_, session := enter(t, s, "alice")
	if got := must[CredentialInfo](t)(s.Credentials.Get(t.Context(), "alice", session.ID)); got.ID != session.ID || got.Account != "alice" {
		t.Errorf("got %+v", got)
	}
	for _, at := range [][2]string{{"bob", session.ID}, {"alice", "none"}} {
		_, err := s.Credentials.Get(t.Context(), at[0], at[1])
		wantError(t, at[0], err, ErrNotFound)
	}
	c.pass(day)
	_, err := s.Credentials.Get(t.Context(), "alice", session.ID)
	wantError(t, "expired", err, ErrNotFound)
}
