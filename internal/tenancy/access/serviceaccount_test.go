package access

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServiceAccounts(t *testing.T) {
	s, c := open(t)
	made := must[ServiceAccountInfo](t)(s.ServiceAccounts.Create(t.Context(), "ci", "Builds", Scope{"payments", "developer"}))
	want := ServiceAccountInfo{Name: "sa:payments:ci", Scope: Scope{"payments", "developer"}, DisplayName: "Builds", Created: c.Now()}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, must[ServiceAccountInfo](t)(s.ServiceAccounts.Get(t.Context(), "payments", "ci"))); diff != "" {
		t.Error(diff)
	}
	must[ServiceAccountInfo](t)(s.ServiceAccounts.Create(t.Context(), "ci", "", Scope{"search", "viewer"}))
	_, err := s.ServiceAccounts.Create(t.Context(), "ci", "", Scope{"payments", "viewer"})
	wantError(t, "a second one", err, ErrExists)
	for field, ask := range map[string]struct {
		name  string
		scope Scope
	}{
		"name": {"ci:cd", Scope{"payments", "viewer"}}, "organization": {"cd", Scope{"pay:ments", "viewer"}}, "role": {"cd", Scope{"payments", "root"}},
	} {
		_, err := s.ServiceAccounts.Create(t.Context(), ask.name, "", ask.scope)
		wantInvalid(t, err, field, "it is not")
	}
	wanted := NewToken{Name: "jenkins", Expires: c.Now().Add(day)}
	issued := must[Issued](t)(s.ServiceAccounts.CreateToken(t.Context(), "payments", "ci", wanted))
	id := must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal()))
	if id.Kind != ServiceAccount || id.Name != "sa:payments:ci" || id.Admin || id.OwnerAdmin || *id.Scope != (Scope{"payments", "developer"}) ||
		issued.Token.Reveal()[:4] != "kqs_" {
		t.Errorf("got %+v", id)
	}
	if err := s.ServiceAccounts.SetRole(t.Context(), "payments", "ci", "viewer"); err != nil {
		t.Fatal(err)
	}
	if id = must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal())); id.Scope.Role != "viewer" {
		t.Errorf("the token kept %s", id.Scope.Role)
	}
	wanted.Scope = &Scope{"search", "owner"}
	_, err = s.ServiceAccounts.CreateToken(t.Context(), "payments", "ci", wanted)
	wantInvalid(t, err, "scope", "that of the service account")
	_, err = s.Credentials.CreateToken(t.Context(), id, NewToken{Name: "x", Expires: c.Now().Add(day)})
	wantError(t, "a token by a service account", err, ErrNeedsSession)
	list := must[List[ServiceAccountInfo]](t)(s.ServiceAccounts.List(t.Context(), "payments", Page{}))
	if len(list.Items) != 1 || list.Items[0].Name != "sa:payments:ci" {
		t.Errorf("got %+v", list)
	}
	wantError(t, "a user of that name", s.Users.Disable(t.Context(), "sa:payments:ci"), ErrNotFound)
	if users := must[List[UserInfo]](t)(s.Users.List(t.Context(), Page{})); len(users.Items) != 0 {
		t.Errorf("users: %+v", users.Items)
	}
}

func TestServiceAccountEnds(t *testing.T) {
	s, c := open(t)
	wanted := NewToken{Name: "jenkins", Expires: c.Now().Add(day)}
	make := func() string {
		t.Helper()
		must[ServiceAccountInfo](t)(s.ServiceAccounts.Create(t.Context(), "ci", "", Scope{"payments", "developer"}))
		return must[Issued](t)(s.ServiceAccounts.CreateToken(t.Context(), "payments", "ci", wanted)).Token.Reveal()
	}
	disabled := make()
	if err := s.ServiceAccounts.Disable(t.Context(), "payments", "ci"); err != nil {
		t.Fatal(err)
	}
	wantDead(t, s, "disabled", disabled)
	_, err := s.ServiceAccounts.CreateToken(t.Context(), "payments", "ci", wanted)
	wantError(t, "a token of a disabled one", err, ErrNotFound)
	if err := s.ServiceAccounts.Enable(t.Context(), "payments", "ci"); err != nil {
		t.Fatal(err)
	}
	wantDead(t, s, "enabled", disabled)
	if err := s.ServiceAccounts.Delete(t.Context(), "payments", "ci"); err != nil {
		t.Fatal(err)
	}
	deleted := make()
	if err := s.ServiceAccounts.Delete(t.Context(), "payments", "ci"); err != nil {
		t.Fatal(err)
	}
	wantDead(t, s, "deleted", deleted)
	forgotten := make()
	wantDead(t, s, "made again", deleted, disabled)

	addUser(t, s, NewUser{Name: "alice"})
	alice, session := enter(t, s, "alice")
	narrow := func(organization string) string {
		return must[Issued](t)(s.Credentials.CreateToken(t.Context(), alice, NewToken{
			Name: "x", Expires: c.Now().Add(day), Scope: &Scope{organization, "viewer"},
		})).Token.Reveal()
	}
	here, there := narrow("payments"), narrow("search")
	for _, organization := range []string{"payments", "payments", ""} { // again, and by mistake
		if err := s.ServiceAccounts.ForgetOrganization(t.Context(), organization); err != nil {
			t.Fatal(err)
		}
	}
	wantDead(t, s, "forgotten", forgotten, here)
	for _, text := range []string{session.Token.Reveal(), there} {
		if _, err := s.Credentials.Authenticate(t.Context(), text); err != nil {
			t.Errorf("another organization: %v", err)
		}
	}
}
