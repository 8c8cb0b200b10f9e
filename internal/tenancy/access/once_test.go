package access

import (
	"strings"
	"testing"
	"time"
)

var first = NewUser{Name: "alice", Password: bees}

// TestIDsSpoilNothing: ids are public. A caller who knows one and not the secret uses nothing up.
func TestIDsSpoilNothing(t *testing.T) {
	s, _ := open(t)
	setup := must[OneTime](t)(s.Setup.Token(t.Context()))
	other, _ := open(t)
	forged := must[OneTime](t)(other.Setup.Token(t.Context()))
	// The same id, with a secret of another token.
	if _, err := s.store.db.ExecContext(t.Context(), `UPDATE access_once SET id = $1`, forged.Token.Reveal()[4:20]); err != nil {
		t.Fatal(err)
	}
	_, err := s.Setup.MakeAdmin(t.Context(), forged.Token.Reveal(), first)
	wantError(t, "forged", err, ErrSpent)
	if _, err := s.store.db.ExecContext(t.Context(), `UPDATE access_once SET id = $1`, setup.Token.Reveal()[4:20]); err != nil {
		t.Fatal(err)
	}
	must[UserInfo](t)(s.Setup.MakeAdmin(t.Context(), setup.Token.Reveal(), first))
}

// TestNothingInClear: no secret that was handed out or typed in is in the database, nor part of one.
func TestNothingInClear(t *testing.T) {
	s, _ := open(t)
	secrets := map[string]string{"password": bees, "mistyped": "my-marker-password"}
	setup := must[OneTime](t)(s.Setup.Token(t.Context()))
	before := dump(t, s)
	must[UserInfo](t)(s.Setup.MakeAdmin(t.Context(), setup.Token.Reveal(), first))
	alice, session := enter(t, s, "alice")
	_, _ = s.Passwords.SignIn(t.Context(), "my-marker-password", "alice", home)
	must[ServiceAccountInfo](t)(s.ServiceAccounts.Create(t.Context(), "ci", "", Scope{"payments", "owner"}))
	wanted := NewToken{Name: "x", Expires: s.store.clock().Add(time.Hour)}
	device := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	for name, text := range map[string]string{
		"setup": setup.Token.Reveal(), "session": session.Token.Reveal(), "device": device.DeviceCode.Reveal(),
		"api":   must[Issued](t)(s.Credentials.CreateToken(t.Context(), alice, wanted)).Token.Reveal(),
		"sa":    must[Issued](t)(s.ServiceAccounts.CreateToken(t.Context(), "payments", "ci", wanted)).Token.Reveal(),
		"reset": must[OneTime](t)(s.Passwords.Reset(t.Context(), "alice")).Token.Reveal(),
		"code":  must[OneTime](t)(s.Codes.Create(t.Context(), alice, codeRequest)).Token.Reveal(),
	} {
		secrets[name] = text[20:60] // kind and id are public
	}
	secrets["user code"], secrets["bare user code"] = device.UserCode, strings.ReplaceAll(device.UserCode, "-", "")
	all := before + dump(t, s)
	for name, secret := range secrets {
		if strings.Contains(all, secret) {
			t.Errorf("%s is in the database", name)
		}
	}
	if !strings.Contains(all, session.ID) || !strings.Contains(all, "$argon2id$") {
		t.Error("the search finds nothing")
	}
}
