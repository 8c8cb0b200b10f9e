package access

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUsers(t *testing.T) {
	s, c := open(t)
	made := must[UserInfo](t)(s.Users.Create(t.Context(), NewUser{
		Name: "alice", DisplayName: "Alice", Email: "alice@example.com", Admin: true, Password: bees,
	}))
	want := UserInfo{
		Name: "alice", DisplayName: "Alice", Email: "alice@example.com", Admin: true, HasPassword: true, Created: c.Now(),
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	read := must[UserInfo](t)(s.Users.Get(t.Context(), "alice"))
	want.Groups = []string{}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Error(diff)
	}
	_, err := s.Users.Create(t.Context(), NewUser{Name: "alice"})
	wantError(t, "a second alice", err, ErrExists)
	if err := s.Users.Update(t.Context(), "alice", "Alice L.", ""); err != nil {
		t.Error(err)
	}
	if read = must[UserInfo](t)(s.Users.Get(t.Context(), "alice")); read.DisplayName != "Alice L." || read.Email != "" || !read.Admin {
		t.Errorf("got %+v", read)
	}
	_, err = s.Users.Get(t.Context(), "bob")
	wantError(t, "get bob", err, ErrNotFound)
	for what, err := range map[string]error{
		"update":  s.Users.Update(t.Context(), "bob", "", ""),
		"admin":   s.Users.SetAdmin(t.Context(), "bob", true),
		"disable": s.Users.Disable(t.Context(), "bob"),
		"enable":  s.Users.Enable(t.Context(), "bob"),
		"delete":  s.Users.Delete(t.Context(), "bob"),
		"set":     setPassword(t, s, "bob", glass),
		"revoke":  s.Credentials.RevokeAll(t.Context(), "bob"),
	} {
		wantError(t, what+" bob", err, ErrNotFound)
	}
}

func TestUsersRefused(t *testing.T) {
	s, _ := open(t)
	tests := map[string]struct {
		user           NewUser
		field, problem string
	}{
		"Empty":    {NewUser{}, "name", "it is empty"},
		"Upper":    {NewUser{Name: "Alice"}, "name", "has a character that names do not have"},
		"Provider": {NewUser{Name: "corp:alice"}, "name", "has a character that names do not have"},
		"System":   {NewUser{Name: "system-node"}, "name", `begins with "system"`},
		"Masters":  {NewUser{Name: "system:masters"}, "name", "has a character"},
		"Newline":  {NewUser{Name: "alice\n"}, "name", "has a character"},
		"End":      {NewUser{Name: "alice-"}, "name", "has a character"},
		"Long":     {NewUser{Name: strings.Repeat("a", 64)}, "name", "it has 64 characters; want 1 to 63"},
		"Display":  {NewUser{Name: "alice", DisplayName: "Al\u202eice"}, "displayName", "cannot be printed"},
		"Email":    {NewUser{Name: "alice", Email: "alice"}, "email", "it is no address; want NAME@DOMAIN"},
		"Password": {NewUser{Name: "alice", Password: "short"}, "password", "it has 5 characters; want 12 to 128"},
		"OwnName":  {NewUser{Name: "alice.liddell", Password: "aliceliddell1"}, "password", "it is the name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.Users.Create(t.Context(), tc.user)
			wantInvalid(t, err, tc.field, tc.problem)
		})
	}
	if users := must[List[UserInfo]](t)(s.Users.List(t.Context(), Page{})); len(users.Items) != 0 {
		t.Errorf("made in spite of that: %+v", users.Items)
	}
}

func TestListIsPaged(t *testing.T) {
	s, _ := open(t)
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprintf("u%d", i))
		must[UserInfo](t)(s.Users.Create(t.Context(), NewUser{Name: want[i]}))
	}
	var got []string
	pages := 0
	for page := (Page{Limit: 3}); ; pages++ {
		list := must[List[UserInfo]](t)(s.Users.List(t.Context(), page))
		for _, user := range list.Items {
			got = append(got, user.Name)
		}
		if page.After = list.Next; page.After == "" {
			break
		}
	}
	if !slices.Equal(got, want) || pages != 2 {
		t.Errorf("got %v in %d pages", got, pages+1)
	}
	for limit, want := range map[int]int{-1: DefaultPage, 0: DefaultPage, 7: 7, 1 << 40: MaxPage} {
		if got := (Page{Limit: limit}).limit(); got != want {
			t.Errorf("a limit of %d is %d, want %d", limit, got, want)
		}
	}
}

// TestEndsAll: what ends a user ends all that the user has, at once and for good.
func TestEndsAll(t *testing.T) {
	ways := map[string]func(s *Service) error{
		"Disable":        func(s *Service) error { return s.Users.Disable(t.Context(), "bob") },
		"Delete":         func(s *Service) error { return s.Users.Delete(t.Context(), "bob") },
		"ChoosePassword": func(s *Service) error { return setPassword(t, s, "bob", glass) },
		"ChangePassword": func(s *Service) error { return s.Passwords.Change(t.Context(), "bob", bees, glass, home) },
		"RevokeAll":      func(s *Service) error { return s.Credentials.RevokeAll(t.Context(), "bob") },
	}
	for name, end := range ways {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t)
			addUser(t, s, NewUser{Name: "alice", Admin: true})
			addUser(t, s, NewUser{Name: "bob"})
			bob, session := enter(t, s, "bob")
			_, other := enter(t, s, "alice")
			api := must[Issued](t)(s.Credentials.CreateToken(t.Context(), bob, NewToken{Name: "ci", Expires: s.store.clock().Add(day)}))
			reset := must[OneTime](t)(s.Passwords.Reset(t.Context(), "bob"))
			code := must[OneTime](t)(s.Codes.Create(t.Context(), bob, codeRequest))
			device := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
			if err := s.Devices.Answer(t.Context(), bob, device.UserCode, true, home); err != nil {
				t.Fatal(err)
			}
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			check := func(when string) {
				t.Helper()
				wantDead(t, s, when, session.Token.Reveal(), api.Token.Reveal())
				wantError(t, when+": reset", s.Passwords.Choose(t.Context(), reset.Token.Reveal(), glass), ErrSpent)
				_, err := s.Codes.Exchange(t.Context(), code.Token.Reveal(), codeVerifier, codeRequest.RedirectURI)
				wantError(t, when+": code", err, ErrInvalidGrant)
				_, err = s.Devices.Poll(t.Context(), device.DeviceCode.Reveal())
				wantError(t, when+": device", err, ErrInvalidGrant)
				_, err = s.Credentials.CreateToken(t.Context(), bob, NewToken{Name: "x", Expires: s.store.clock().Add(day)})
				wantError(t, when+": a new token", err, ErrUnauthenticated)
			}
			check("at once")
			switch name {
			case "Disable":
				if err := s.Users.Enable(t.Context(), "bob"); err != nil {
					t.Error(err)
				}
			case "Delete":
				addUser(t, s, NewUser{Name: "bob"})
			}
			check("later")
			if _, err := s.Credentials.Authenticate(t.Context(), other.Token.Reveal()); err != nil {
				t.Errorf("another user: %v", err)
			}
		})
	}
}

// TestEpoch: a credential that was being made while the account was changed is good for nothing.
func TestEpoch(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "bob"})
	before := must[account](t)(findAccount(t.Context(), s.store.db, User, "bob"))
	if err := s.Credentials.RevokeAll(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	tx := must[sqlTx](t)(s.store.db.BeginTx(t.Context(), nil))
	late := must[Issued](t)(s.Credentials.issueSession(t.Context(), tx, before, "", time.Time{}))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	wantDead(t, s, "late", late.Token.Reveal())
	if list := must[List[CredentialInfo]](t)(s.Credentials.List(t.Context(), "bob", "", Page{})); len(list.Items) != 0 {
		t.Errorf("listed: %+v", list.Items)
	}
}

// TestEpochOfOnce: what was being asked for while the account was changed is good for nothing.
func TestEpochOfOnce(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "bob"})
	bob, _ := enter(t, s, "bob")
	reset := must[OneTime](t)(s.Passwords.Reset(t.Context(), "bob"))
	code := must[OneTime](t)(s.Codes.Create(t.Context(), bob, codeRequest))
	device := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	if err := s.Devices.Answer(t.Context(), bob, device.UserCode, true, home); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.db.ExecContext(t.Context(), `UPDATE access_accounts SET epoch = epoch - 1`); err != nil {
		t.Fatal(err)
	}
	wantError(t, "reset", s.Passwords.Choose(t.Context(), reset.Token.Reveal(), glass), ErrSpent)
	_, err := s.Codes.Exchange(t.Context(), code.Token.Reveal(), codeVerifier, codeRequest.RedirectURI)
	wantError(t, "code", err, ErrInvalidGrant)
	_, err = s.Devices.Poll(t.Context(), device.DeviceCode.Reveal())
	wantError(t, "device", err, ErrAccessDenied)
}

func TestLastAdmin(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice", Admin: true})
	addUser(t, s, NewUser{Name: "bob"})
	refused := func(when string) {
		t.Helper()
		wantError(t, when+": demote", s.Users.SetAdmin(t.Context(), "alice", false), ErrLastAdmin)
		wantError(t, when+": disable", s.Users.Disable(t.Context(), "alice"), ErrLastAdmin)
		wantError(t, when+": delete", s.Users.Delete(t.Context(), "alice"), ErrLastAdmin)
	}
	_, session := enter(t, s, "alice")
	refused("alone")
	if id, err := s.Credentials.Authenticate(t.Context(), session.Token.Reveal()); err != nil || !id.Admin {
		t.Errorf("what was refused had an effect: %+v, %v", id, err)
	}
	if err := s.Users.SetAdmin(t.Context(), "bob", true); err != nil {
		t.Fatal(err)
	}
	if err := s.Users.Disable(t.Context(), "bob"); err != nil {
		t.Errorf("one of two: %v", err)
	}
	refused("the other is disabled")
	if err := s.Users.Delete(t.Context(), "bob"); err != nil {
		t.Errorf("a disabled one: %v", err)
	}
	// Where there is no administrator already, every user can be removed.
	addUser(t, s, NewUser{Name: "carol", Admin: true})
	if err := s.Users.Disable(t.Context(), "carol"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.db.ExecContext(t.Context(), `UPDATE access_accounts SET admin = FALSE WHERE name = 'alice'`); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"carol", "alice"} {
		if err := s.Users.Delete(t.Context(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
