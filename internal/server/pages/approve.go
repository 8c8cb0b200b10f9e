package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/server/accounts"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// authorizePath is the page on which a user lets a command line of the same machine in.
const authorizePath = "/authorize"

// devicePage is what the page about a device shows.
type devicePage struct {
	Code, Client, Source, Since string
	Message                     string
}

// mayApprove says whether the user is one who has signed in a short time ago: what they approve gets a session.
func (v *visit) mayApprove() bool { return v.Known() && v.Identity.Fresh }

// ask sends a user who may not approve yet to sign in first, and back here afterwards.
func (v *visit) ask(provider string) error {
	next := (&url.URL{Path: v.r.URL.Path, RawQuery: v.r.URL.RawQuery}).String()
	if _, err := nextPage(next); err != nil {
		return err
	}
	if chain.Harmless(provider) { // a name, and no path
		return v.send(providerPage(provider, next))
	}
	return v.send(SignInPath + "?" + url.Values{"next": {next}}.Encode())
}

// showDevice asks for the code that a device shows. One that came with the link is not looked up before the user sends
// the form: the sender of the link does not guess with the user's session.
func (s *Pages) showDevice(v *visit) error {
	query := v.r.URL.Query()
	if !v.mayApprove() {
		return v.ask(query.Get("provider"))
	}
	return v.show(http.StatusOK, "device.html", "Sign in a device", devicePage{Code: text.CutLetters(text.Line(query.Get("user_code")), 32)})
}

// takeDevice shows which device asks, and takes the answer.
func (s *Pages) takeDevice(v *visit) error {
	if !v.Known() {
		return noSession()
	}
	code, answer := v.r.PostForm.Get("user_code"), v.r.PostForm.Get("answer")
	switch answer {
	case "approve", "deny":
		approve := answer == "approve"
		if err := s.Flows.Answer(v.r.Context(), v.Request, code, approve); err != nil {
			return v.again(code, err)
		}
		return v.show(http.StatusOK, "answered.html", "Done", approve)
	}
	found, err := s.Flows.Device(v.r.Context(), v.Request, code)
	if err != nil {
		return v.again(code, err)
	}
	return v.show(http.StatusOK, "device.html", "Sign in a device", devicePage{
		Code: code, Client: cmp.Or(found.Client, "a device that does not say what it is"), Source: accounts.SourceText(found.Source),
		Since: since(s.Now().Sub(found.Created)),
	})
}

// again asks for the code once more.
func (v *visit) again(code string, err error) error {
	var message string
	p := problem.Of(err)
	switch p.Status {
	case http.StatusNotFound:
		message = "No device shows this code, or it has expired. Look at it again, or start again on the device."
	case http.StatusTooManyRequests:
		message = "Too many codes were wrong. Try again later."
	default:
		return err
	}
	return v.show(p.Status, "device.html", "Sign in a device", devicePage{Code: text.CutLetters(text.Line(code), 32), Message: message})
}

// authorizePage is what the page about a command line shows.
type authorizePage struct {
	access.CodeRequest

	State, Port string
}

// codeRequest reads what a command line asks for. What is wrong is said here: nothing is sent to an address that is not
// the user's own.
func codeRequest(q url.Values) (authorizePage, error) {
	p := authorizePage{CodeRequest: access.CodeRequest{
		RedirectURI: q.Get("redirect_uri"), Challenge: q.Get("code_challenge"), Method: q.Get("code_challenge_method"),
		Client: text.CutLetters(text.Line(q.Get("client")), 100),
	}, State: q.Get("state")}
	if err := p.Validate(); err != nil {
		return p, problem.ExplainAccess(err)
	}
	u, err := url.Parse(p.RedirectURI)
	if err != nil || u.Hostname() != "127.0.0.1" {
		// A policy cannot name an IPv6 address, and without one the browser would not go there.
		return p, invalidPage("redirect_uri", "it has to be http://127.0.0.1:PORT/PATH")
	}
	if p.State == "" || len(p.State) > 200 || strings.ContainsFunc(p.State, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return p, invalidPage("state", "it has to be 1 to 200 characters that can be printed")
	}
	p.Port = u.Port()
	return p, nil
}

// back is where the browser takes the answer.
func (p authorizePage) back(answer url.Values) string {
	answer.Set("state", p.State)
	return p.RedirectURI + "?" + answer.Encode()
}

// showAuthorize asks whether a command line may have a session.
func (s *Pages) showAuthorize(v *visit) error {
	p, err := codeRequest(v.r.URL.Query())
	if err != nil {
		return err
	}
	if !v.mayApprove() {
		return v.ask(v.r.URL.Query().Get("provider"))
	}
	// Browsers hold what a form leads to against the policy, too.
	v.w.Header().Set("Content-Security-Policy", fmt.Sprintf(pagePolicy, " http://127.0.0.1:"+p.Port))
	return v.show(http.StatusOK, "authorize.html", "Sign in the command line", p)
}

// takeAuthorize sends the browser back to the command line with a code, or with a no.
func (s *Pages) takeAuthorize(v *visit) error {
	p, err := codeRequest(v.r.PostForm)
	if err != nil {
		return err
	}
	if !v.Known() {
		return noSession()
	}
	v.Object = chain.Object{Kind: "User", Name: v.Identity.Name}
	approve := v.r.PostForm.Get("answer") == "approve"
	v.Detail = map[string]string{"answer": accounts.AnswerWord(approve)}
	if !approve {
		return v.send(p.back(url.Values{"error": {"access_denied"}}))
	}
	p.Client = cmp.Or(p.Client, v.From.Client)
	code, err := s.Codes.Create(v.r.Context(), v.Identity, p.CodeRequest)
	if err != nil {
		return problem.ExplainAccess(err)
	}
	return v.send(p.back(url.Values{"code": {code.Token.Reveal()}}))
}

// since is a time in words.
func since(d time.Duration) string {
	if d < time.Minute {
		return "less than a minute ago"
	}
	return fmt.Sprintf("%d min ago", int(d.Minutes()))
}
