package pages

import (
	"net/http"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

const (
	// setupPath is where the first administrator is created, and choosePath where users choose a password. Links to them hold a one-time
	// token; opening one uses nothing up, so that programs that look at links do no harm.
	setupPath  = "/setup"
	choosePath = "/welcome"
)

// maxToken is how long a one-time token may be, in bytes.
const maxToken = 200

// welcomePage is what both pages show.
type welcomePage struct{ Token, Name, DisplayName, Message string }

// showSetup asks for the first administrator.
func (s *Pages) showSetup(v *visit) error {
	return v.welcome(http.StatusOK, "setup.html", "Create the first administrator", welcomePage{Token: v.r.URL.Query().Get("token")})
}

// takeSetup creates the first administrator and signs them in.
func (s *Pages) takeSetup(v *visit) error {
	form := v.r.PostForm
	p := welcomePage{Token: form.Get("token"), Name: form.Get("name"), DisplayName: form.Get("displayName")}
	v.Object = chain.Object{Kind: "User", Name: p.Name}
	again := func(status int, message string) error {
		p.Message = message
		return v.welcome(status, "setup.html", "Create the first administrator", p)
	}
	if form.Get("password") != form.Get("repeated") {
		return again(http.StatusUnprocessableEntity, "The passwords are not the same.")
	}
	_, err := s.Setup.MakeAdmin(v.r.Context(), p.Token, access.NewUser{Name: p.Name, DisplayName: p.DisplayName, Password: form.Get("password")})
	if err != nil {
		refused := problem.Of(problem.ExplainAccess(err))
		if refused.Status == http.StatusUnprocessableEntity {
			return again(refused.Status, refused.Error())
		}
		return refused
	}
	issued, err := s.Flows.SignIn(v.r.Context(), v.Request, p.Name, form.Get("password"))
	if err != nil {
		return problem.ExplainAccess(err)
	}
	return v.enter(issued, "setup", "")
}

// showChoose asks a user for a password.
func (s *Pages) showChoose(v *visit) error {
	return v.welcome(http.StatusOK, "welcome.html", "Choose your password", welcomePage{Token: v.r.URL.Query().Get("token")})
}

// takeChoose gives a user the password of their choice. They sign in with it as every user does.
func (s *Pages) takeChoose(v *visit) error {
	form := v.r.PostForm
	p := welcomePage{Token: form.Get("token")}
	again := func(status int, message string) error {
		p.Message = message
		return v.welcome(status, "welcome.html", "Choose your password", p)
	}
	if form.Get("password") != form.Get("repeated") {
		return again(http.StatusUnprocessableEntity, "The passwords are not the same.")
	}
	if err := s.Passwords.Choose(v.r.Context(), p.Token, form.Get("password")); err != nil {
		refused := problem.Of(problem.ExplainAccess(err))
		if refused.Status == http.StatusUnprocessableEntity {
			return again(refused.Status, refused.Error())
		}
		return refused
	}
	return v.send(SignInPath)
}

// welcome shows a page with a form for a one-time token.
func (v *visit) welcome(status int, name, title string, p welcomePage) error {
	if len(p.Token) > maxToken {
		return invalidPage("token", "it is no one-time token")
	}
	return v.show(status, name, title, p)
}
