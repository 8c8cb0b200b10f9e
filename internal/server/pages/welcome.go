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

// welcomePage is what a welcome shows.
type welcomePage struct{ Token, Name, DisplayName, Message string }

// welcome is a page on which the holder of a one-time token chooses a password.
type welcome struct {
	file, title string
	// names says that the form has the name of a user who does not exist yet.
	names bool
	// use uses the token up. What it says of the input that is wrong is shown with the form.
	use func(v *visit, p welcomePage, password string) error
	// next is where that leads.
	next func(v *visit, p welcomePage, password string) error
}

// setup creates the first administrator and signs them in.
func (s *Pages) setup() welcome {
	return welcome{
		file: "setup.html", title: "Create the first administrator", names: true,
		use: func(v *visit, p welcomePage, password string) error {
			_, err := s.Setup.MakeAdmin(v.r.Context(), p.Token, access.NewUser{Name: p.Name, DisplayName: p.DisplayName, Password: password})
			return err
		},
		next: func(v *visit, p welcomePage, password string) error {
			issued, err := s.Flows.SignIn(v.r.Context(), v.Request, p.Name, password)
			if err != nil {
				return problem.ExplainAccess(err)
			}
			return v.enter(issued, "setup", "")
		},
	}
}

// choose gives a user the password of their choice. They sign in with it as every user does.
func (s *Pages) choose() welcome {
	return welcome{
		file: "welcome.html", title: "Choose your password",
		use: func(v *visit, p welcomePage, password string) error {
			return s.Passwords.Choose(v.r.Context(), p.Token, password)
		},
		next: func(v *visit, _ welcomePage, _ string) error { return v.send(SignInPath) },
	}
}

// ask shows the form.
func (w welcome) ask(v *visit) error {
	return w.show(v, http.StatusOK, welcomePage{Token: v.r.URL.Query().Get("token")})
}

// take takes the form, or shows it again with what is wrong.
func (w welcome) take(v *visit) error {
	form := v.r.PostForm
	p := welcomePage{Token: form.Get("token")}
	if w.names {
		p.Name, p.DisplayName = form.Get("name"), form.Get("displayName")
		v.Object = chain.Object{Kind: "User", Name: p.Name}
	}
	password := form.Get("password")
	if password != form.Get("repeated") {
		p.Message = "The passwords are not the same."
		return w.show(v, http.StatusUnprocessableEntity, p)
	}
	if err := w.use(v, p, password); err != nil {
		refused := problem.Of(problem.ExplainAccess(err))
		if refused.Status != http.StatusUnprocessableEntity {
			return refused
		}
		p.Message = refused.Error()
		return w.show(v, refused.Status, p)
	}
	return w.next(v, p, password)
}

func (w welcome) show(v *visit, status int, p welcomePage) error {
	if len(p.Token) > maxToken {
		return invalidPage("token", "it is no one-time token")
	}
	return v.show(status, w.file, w.title, p)
}
