//go:build linux

package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kqueen.io/kqueen/api/rest"
	kqueenclient "kqueen.io/kqueen/client"
)

// browse is the user with a browser: it opens an address, signs in as $BROWSER_USER, and says $BROWSER_ANSWER. It keeps to
// the page's policy about where forms lead, as browsers do.
func browse(args []string) int {
	if err := (&surfer{}).run(args); err != nil {
		_ = os.WriteFile("browser.log", []byte(err.Error()), 0o600)
		return 1
	}
	return 0
}

type surfer struct {
	http *http.Client
	page *http.Response
	body string
	// allowed is where the form on the page may lead.
	allowed string
}

func (s *surfer) run(args []string) error {
	if len(args) != 1 || !strings.HasPrefix(args[0], "https://") {
		return fmt.Errorf("want one address: %q", args)
	}
	authority, err := os.ReadFile("ca.pem")
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	s.http = &http.Client{
		Jar: jar, Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if r.URL.Scheme != "https" && !strings.Contains(s.allowed, " "+r.URL.Scheme+"://"+r.URL.Host+";") {
				return fmt.Errorf("the policy %q does not let a form lead to %s", s.allowed, r.URL.Host)
			}
			return nil
		},
	}
	if err := s.open(http.MethodGet, args[0], nil); err != nil {
		return err
	}
	if err := s.submit("/signin", "name", os.Getenv("BROWSER_USER"), "password", goodPassword); err != nil {
		return err
	}
	return s.submit("/authorize", "answer", os.Getenv("BROWSER_ANSWER"))
}

func (s *surfer) open(method, address string, form url.Values) error {
	r, err := http.NewRequest(method, address, strings.NewReader(form.Encode())) //nolint:noctx // the client has a timeout
	if err != nil {
		return err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://"+r.URL.Host)
	}
	if s.page, err = s.http.Do(r); err != nil {
		return err
	}
	defer s.page.Body.Close()
	data, err := io.ReadAll(s.page.Body)
	if err == nil && s.page.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", address, s.page.StatusCode, data)
	}
	s.body, s.allowed = string(data), s.page.Header.Get("Content-Security-Policy")
	return err
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// submit fills in the form that is sent to path, with what it has already.
func (s *surfer) submit(path string, pairs ...string) error {
	_, form, ok := strings.Cut(s.body, `action="`+path+`"`)
	if !ok {
		return fmt.Errorf("there is no form for %s on %s", path, s.body)
	}
	inner, _, _ := strings.Cut(form, "</form>")
	fields := url.Values{}
	for _, found := range hiddenInput.FindAllStringSubmatch(inner, -1) {
		fields.Set(found[1], unescaped.Replace(found[2]))
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	target := s.page.Request.URL.ResolveReference(&url.URL{Path: path})
	return s.open(http.MethodPost, target.String(), fields)
}

var unescaped = strings.NewReplacer("&amp;", "&", "&#43;", "+", "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">")

var shownCode = regexp.MustCompile(`\n {2}([B-Z]{4}-[B-Z]{4})\n`)

// approve is the script command "approve USER FILE [no]": a user answers the device whose output is in a file, as soon as
// it shows a code.
func approve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: approve USER FILE [no]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	authority, err := os.ReadFile(ts.MkAbs("ca.pem"))
	ts.Check(err)
	token := ""
	c, err := kqueenclient.New(kqueenclient.Config{
		Connection: kqueenclient.Connection{Server: ts.Getenv("SERVER"), CA: authority},
		Token:      func(context.Context) (string, error) { return token, nil },
	})
	ts.Check(err)
	session, err := c.SignIn(ctx, rest.SignIn{Name: args[0], Password: goodPassword})
	ts.Check(err)
	token = session.Token
	code, err := codeIn(ctx, ts.MkAbs(args[1]))
	ts.Check(err)
	asked, err := c.GetDevice(ctx, code)
	ts.Check(err)
	if !strings.HasPrefix(asked.Client, "kqueen") {
		ts.Fatalf("the device says that it is %q", asked.Client)
	}
	ts.Check(c.AnswerDevice(ctx, rest.DeviceAnswer{UserCode: code, Approve: len(args) == 2}))
}

// code is the script command "code FILE": $CODE is what the device shows whose output is in a file, as soon as it does.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: code FILE")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shown, err := codeIn(ctx, ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Setenv("CODE", shown)
}

func codeIn(ctx context.Context, file string) (string, error) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if found := shownCode.FindSubmatch(data); found != nil {
			return string(found[1]), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("no code is shown: %q", data)
		case <-ticker.C:
		}
	}
}
