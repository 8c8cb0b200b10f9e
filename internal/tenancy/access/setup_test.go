package access

import (
	"fmt"
	"strings"
	"testing"
)

// TestSetUp: the first administrator comes by a token that is good once, and no other one does later.
func TestSetUp(t *testing.T) {
	s, c := open(t)
	replaced := must[OneTime](t)(s.Setup.Token(t.Context()))
	late := must[OneTime](t)(s.Setup.Token(t.Context()))
	_, err := s.Setup.MakeAdmin(t.Context(), replaced.Token.Reveal(), first)
	wantError(t, "replaced", err, ErrSpent)
	c.pass(setUpLife)
	_, err = s.Setup.MakeAdmin(t.Context(), late.Token.Reveal(), first)
	wantError(t, "late", err, ErrSpent)

	good := must[OneTime](t)(s.Setup.Token(t.Context()))
	for _, text := range []string{"", "kq1_", "secret", strings.Replace(good.Token.Reveal(), "kq1_", "kqu_", 1)} {
		_, err := s.Setup.MakeAdmin(t.Context(), text, first)
		wantError(t, text, err, ErrSpent)
	}
	wantDead(t, s, "it authenticates no user", good.Token.Reveal())
	_, err = s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), NewUser{Name: "alice"})
	wantInvalid(t, err, "password", "it is empty")
	_, err = s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), NewUser{Name: "alice", Password: "short"})
	wantInvalid(t, err, "password", "has 5 characters")
	_, err = s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), NewUser{Name: "Alice", Password: bees})
	wantInvalid(t, err, "name", "has a character")

	user := must[UserInfo](t)(s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), first))
	if !user.Admin || user.Name != "alice" {
		t.Errorf("got %+v", user)
	}
	enter(t, s, "alice")
	_, err = s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), NewUser{Name: "mallory", Password: bees})
	wantError(t, "again", err, ErrSpent)
	_, err = s.Setup.Token(t.Context())
	wantError(t, "a new token", err, ErrSetUp)
}

// TestRecover: the owner of the installation makes another administrator, once, when there are users.
func TestRecover(t *testing.T) {
	s, c := open(t)
	setup := must[OneTime](t)(s.Setup.Token(t.Context()))
	must[UserInfo](t)(s.Setup.MakeAdmin(t.Context(), setup.Token.Reveal(), first))
	replaced := must[OneTime](t)(s.Setup.RecoveryToken(t.Context()))
	late := must[OneTime](t)(s.Setup.RecoveryToken(t.Context()))
	other := NewUser{Name: "rescue", Password: bees}
	_, err := s.Setup.MakeAdmin(t.Context(), replaced.Token.Reveal(), other)
	wantError(t, "replaced", err, ErrSpent)
	c.pass(setUpLife)
	_, err = s.Setup.MakeAdmin(t.Context(), late.Token.Reveal(), other)
	wantError(t, "late", err, ErrSpent)

	good := must[OneTime](t)(s.Setup.RecoveryToken(t.Context()))
	_, err = s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), first)
	wantError(t, "a name that is taken", err, ErrExists)
	if user := must[UserInfo](t)(s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), other)); !user.Admin || user.Name != "rescue" {
		t.Errorf("got %+v", user)
	}
	_, err = s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), NewUser{Name: "mallory", Password: bees})
	wantError(t, "again", err, ErrSpent)
	_, err = s.Setup.Token(t.Context())
	wantError(t, "the first one's token", err, ErrSetUp)
}

func TestSetUpOnce(t *testing.T) {
	s, _ := open(t)
	setup := must[OneTime](t)(s.Setup.Token(t.Context()))
	wantOne(t, ErrSpent, func(i int) error {
		_, err := s.Setup.MakeAdmin(t.Context(), setup.Token.Reveal(), NewUser{Name: fmt.Sprint("admin", i), Password: bees})
		return err
	})
	if users := must[List[UserInfo]](t)(s.Users.List(t.Context(), Page{})); len(users.Items) != 1 {
		t.Errorf("got %+v", users.Items)
	}
}

// TestSetUpAfterUsers: a token that was made before there were users is worth nothing after.
func TestSetUpAfterUsers(t *testing.T) {
	s, _ := open(t)
	setup := must[OneTime](t)(s.Setup.Token(t.Context()))
	addUser(t, s, NewUser{Name: "bob"})
	_, err := s.Setup.MakeAdmin(t.Context(), setup.Token.Reveal(), first)
	wantError(t, "after bob", err, ErrSetUp)
}
