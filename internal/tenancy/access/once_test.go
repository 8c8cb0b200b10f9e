package access

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var first = NewUser{Name: "alice", Password: bees}

// TestSetUp: the first administrator comes by a token that is good once, and no other one does later.
func TestSetUp(t *testing.T) {
	s, c := open(t)
	replaced := must[OneTime](t)(s.SetupToken(t.Context()))
	late := must[OneTime](t)(s.SetupToken(t.Context()))
	_, err := s.SetUp(t.Context(), replaced.Token.Reveal(), first)
	wantError(t, "replaced", err, ErrSpent)
	c.pass(setUpLife)
	_, err = s.SetUp(t.Context(), late.Token.Reveal(), first)
	wantError(t, "late", err, ErrSpent)

	good := must[OneTime](t)(s.SetupToken(t.Context()))
	for _, text := range []string{"", "kq1_", "secret", strings.Replace(good.Token.Reveal(), "kq1_", "kqu_", 1)} {
		_, err := s.SetUp(t.Context(), text, first)
		wantError(t, text, err, ErrSpent)
	}
	wantDead(t, s, "it proves nobody", good.Token.Reveal())
	_, err = s.SetUp(t.Context(), good.Token.Reveal(), NewUser{Name: "alice"})
	wantInvalid(t, err, "password", "it is empty")
	_, err = s.SetUp(t.Context(), good.Token.Reveal(), NewUser{Name: "alice", Password: "short"})
	wantInvalid(t, err, "password", "has 5 characters")
	_, err = s.SetUp(t.Context(), good.Token.Reveal(), NewUser{Name: "Alice", Password: bees})
	wantInvalid(t, err, "name", "has a character")

	user := must[UserInfo](t)(s.SetUp(t.Context(), good.Token.Reveal(), first))
	if !user.Admin || user.Name != "alice" {
		t.Errorf("got %+v", user)
	}
	enter(t, s, "alice")
	_, err = s.SetUp(t.Context(), good.Token.Reveal(), NewUser{Name: "mallory", Password: bees})
	wantError(t, "again", err, ErrSpent)
	_, err = s.SetupToken(t.Context())
	wantError(t, "a new token", err, ErrSetUp)
}

// TestRecover: the owner of the installation makes another administrator, once, when there are users.
func TestRecover(t *testing.T) {
	s, c := open(t)
	setup := must[OneTime](t)(s.SetupToken(t.Context()))
	must[UserInfo](t)(s.SetUp(t.Context(), setup.Token.Reveal(), first))
	replaced := must[OneTime](t)(s.RecoveryToken(t.Context()))
	late := must[OneTime](t)(s.RecoveryToken(t.Context()))
	other := NewUser{Name: "rescue", Password: bees}
	_, err := s.SetUp(t.Context(), replaced.Token.Reveal(), other)
	wantError(t, "replaced", err, ErrSpent)
	c.pass(setUpLife)
	_, err = s.SetUp(t.Context(), late.Token.Reveal(), other)
	wantError(t, "late", err, ErrSpent)

	good := must[OneTime](t)(s.RecoveryToken(t.Context()))
	_, err = s.SetUp(t.Context(), good.Token.Reveal(), first)
	wantError(t, "a name that is taken", err, ErrExists)
	if user := must[UserInfo](t)(s.SetUp(t.Context(), good.Token.Reveal(), other)); !user.Admin || user.Name != "rescue" {
		t.Errorf("got %+v", user)
	}
	_, err = s.SetUp(t.Context(), good.Token.Reveal(), NewUser{Name: "mallory", Password: bees})
	wantError(t, "again", err, ErrSpent)
	_, err = s.SetupToken(t.Context())
	wantError(t, "the first one's token", err, ErrSetUp)
}

func TestSetUpOnce(t *testing.T) {
	s, _ := open(t)
	setup := must[OneTime](t)(s.SetupToken(t.Context()))
	wantOne(t, ErrSpent, func(i int) error {
		_, err := s.SetUp(t.Context(), setup.Token.Reveal(), NewUser{Name: fmt.Sprint("admin", i), Password: bees})
		return err
	})
	if users := must[List[UserInfo]](t)(s.ListUsers(t.Context(), Page{})); len(users.Items) != 1 {
		t.Errorf("got %+v", users.Items)
	}
}

// TestSetUpAfterUsers: a token that was made before there were users is worth nothing after.
func TestSetUpAfterUsers(t *testing.T) {
	s, _ := open(t)
	setup := must[OneTime](t)(s.SetupToken(t.Context()))
	addUser(t, s, NewUser{Name: "bob"})
	_, err := s.SetUp(t.Context(), setup.Token.Reveal(), first)
	wantError(t, "after bob", err, ErrSetUp)
}

func TestResetPassword(t *testing.T) {
	s, c := open(t)
	must[UserInfo](t)(s.CreateUser(t.Context(), NewUser{Name: "alice"}))
	replaced := must[OneTime](t)(s.ResetPassword(t.Context(), "alice"))
	late := must[OneTime](t)(s.ResetPassword(t.Context(), "alice"))
	wantError(t, "replaced", s.ChoosePassword(t.Context(), replaced.Token.Reveal(), bees), ErrSpent)
	c.pass(choosePassLife)
	wantError(t, "late", s.ChoosePassword(t.Context(), late.Token.Reveal(), bees), ErrSpent)
	good := must[OneTime](t)(s.ResetPassword(t.Context(), "alice"))
	wantInvalid(t, s.ChoosePassword(t.Context(), good.Token.Reveal(), "password1234"), "password", "one of the commonest")
	_, err := s.SetUp(t.Context(), good.Token.Reveal(), NewUser{Name: "mallory", Password: bees})
	wantError(t, "for something else", err, ErrSpent)
	for range 5 {
		_, _ = s.SignIn(t.Context(), "alice", "wrong", Origin{})
	}
	wantOne(t, ErrSpent, func(int) error { return s.ChoosePassword(t.Context(), good.Token.Reveal(), bees) })
	enter(t, s, "alice") // and is not locked out
	_, err = s.ResetPassword(t.Context(), "bob")
	wantError(t, "nobody", err, ErrNotFound)
	if err := s.DisableUser(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	_, err = s.ResetPassword(t.Context(), "alice")
	wantError(t, "disabled", err, ErrNotFound)
}

// TestIDsSpoilNothing: ids are public. Who knows one and not the secret uses nothing up.
func TestIDsSpoilNothing(t *testing.T) {
	s, _ := open(t)
	setup := must[OneTime](t)(s.SetupToken(t.Context()))
	other, _ := open(t)
	forged := must[OneTime](t)(other.SetupToken(t.Context()))
	// The same id, with a secret of another token.
	if _, err := s.DB.ExecContext(t.Context(), `UPDATE access_once SET id = $1`, forged.Token.Reveal()[4:20]); err != nil {
		t.Fatal(err)
	}
	_, err := s.SetUp(t.Context(), forged.Token.Reveal(), first)
	wantError(t, "forged", err, ErrSpent)
	if _, err := s.DB.ExecContext(t.Context(), `UPDATE access_once SET id = $1`, setup.Token.Reveal()[4:20]); err != nil {
		t.Fatal(err)
	}
	must[UserInfo](t)(s.SetUp(t.Context(), setup.Token.Reveal(), first))
}

// TestNothingInClear: no secret that was handed out or typed in is in the database, nor part of one.
func TestNothingInClear(t *testing.T) {
	s, _ := open(t)
	secrets := map[string]string{"password": bees, "mistyped": "my-marker-password"}
	setup := must[OneTime](t)(s.SetupToken(t.Context()))
	before := dump(t, s)
	must[UserInfo](t)(s.SetUp(t.Context(), setup.Token.Reveal(), first))
	alice, session := enter(t, s, "alice")
	_, _ = s.SignIn(t.Context(), "my-marker-password", "alice", home)
	must[ServiceAccountInfo](t)(s.CreateServiceAccount(t.Context(), "ci", "", Scope{"payments", "owner"}))
	wanted := NewToken{Name: "x", Expires: s.Now().Add(time.Hour)}
	device := must[DeviceStart](t)(s.StartDevice(t.Context(), home))
	for name, text := range map[string]string{
		"setup": setup.Token.Reveal(), "session": session.Token.Reveal(), "device": device.DeviceCode.Reveal(),
		"api":   must[Issued](t)(s.CreateToken(t.Context(), alice, wanted)).Token.Reveal(),
		"sa":    must[Issued](t)(s.CreateServiceAccountToken(t.Context(), "payments", "ci", wanted)).Token.Reveal(),
		"reset": must[OneTime](t)(s.ResetPassword(t.Context(), "alice")).Token.Reveal(),
		"code":  must[OneTime](t)(s.CreateCode(t.Context(), alice, codeRequest)).Token.Reveal(),
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
