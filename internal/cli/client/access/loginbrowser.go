package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/oauth2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// browserPatience is how long a browser may take. The code that the server keeps for it has expired after that, too.
const browserPatience = 10 * time.Minute

// callbackPath is where the browser brings the code to.
const callbackPath = "/callback"

// hasBrowser says whether a browser can be started here. In a terminal alone xdg-open would start one of the terminal.
func hasBrowser() bool {
	return runtime.GOOS != "linux" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// byBrowser signs in with a browser of this machine: it brings a code to an address of this machine alone, which is
// good with a secret that never left this process (RFC 8252, RFC 7636).
func (l *login) byBrowser(ctx context.Context, c *client.Client, server string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, browserPatience)
	defer cancel()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the browser: %w", err)
	}
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	back := "http://" + listener.Addr().String() + callbackPath
	received, stop := await(listener, state)
	defer stop(ctx)

	page := server + "/authorize?" + l.question(back, state, verifier).Encode()
	l.env.Say("Sign in with your browser, at\n\n  %s\n\nWith a browser on another machine, use --device; with a password, --username NAME.", page)
	if hasBrowser() {
		if err := openBrowser(ctx, page); err != nil {
			l.env.Say("no browser could be started (%v); open the address yourself", err)
		}
	}
	select {
	case <-ctx.Done():
		return "", fmt.Errorf("wait for the browser: %w", ctx.Err())
	case query := <-received:
		if query.Get("error") != "" {
			return "", exit.Fail(exit.Denied, "you denied it in the browser")
		}
		session, err := c.ExchangeCode(ctx, rest.CodeExchange{Code: query.Get("code"), CodeVerifier: verifier, RedirectURI: back})
		if err != nil {
			return "", fmt.Errorf("sign in: %w", err)
		}
		return session.Token, nil
	}
}

// question is what the browser asks the server for.
func (l *login) question(back, state, verifier string) url.Values {
	q := url.Values{
		"redirect_uri": {back}, "state": {state}, "client": {clientName()},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}
	if l.provider != "" {
		q.Set("provider", l.provider)
	}
	return q
}

// await serves the address to which the browser brings a code. What does not know the state, such as a page that
// guesses ports, is told nothing and ends nothing.
func await(listener net.Listener, state string) (received <-chan url.Values, stop func(context.Context)) {
	first := make(chan url.Values, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		query := r.URL.Query()
		if r.Host != listener.Addr().String() || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) != 1 {
			http.Error(w, "This is not what kqueen login waits for.", http.StatusBadRequest)
			return
		}
		select {
		case first <- query:
			fmt.Fprintln(w, "Go back to the command line. You can close this page.")
		default:
			http.Error(w, "kqueen login has its answer already.", http.StatusGone)
		}
	})
	s := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(listener) // ends with the listener
	}()
	return first, func(ctx context.Context) {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
		<-ended
	}
}

// openBrowser starts the user's browser. The address is one argument of a program, and no shell sees it. The browser
// may outlive us.
func openBrowser(ctx context.Context, address string) error {
	program, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// clientName is what the user is shown, and the session is listed with.
func clientName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "kqueen"
	}
	return "kqueen on " + console.CleanLine(host[:min(len(host), 64)])
}

// byDevice signs in with a browser anywhere: its user types a code there (RFC 8628).
func (l *login) byDevice(ctx context.Context, c *client.Client, server string) (string, error) {
	device, err := c.StartDevice(ctx, clientName())
	if err != nil {
		return "", fmt.Errorf("begin to sign in: %w", err)
	}
	page := server + "/device"
	if l.provider != "" {
		page += "?" + url.Values{"provider": {l.provider}}.Encode()
	}
	l.env.Say("Open this page on any device, and enter the code there until %s:\n\n  %s\n  %s\n\nWith a password, use --username NAME.",
		console.When(time.Now().Add(time.Duration(device.ExpiresIn)*time.Second)), page, device.UserCode)
	interval := time.Duration(min(max(device.Interval, 1), 60)) * time.Second
	for {
		wait := time.NewTimer(interval)
		select {
		case <-ctx.Done():
			wait.Stop()
			return "", fmt.Errorf("wait for the answer: %w", ctx.Err())
		case <-wait.C:
		}
		session, err := c.PollDevice(ctx, clientName(), device.DeviceCode)
		if err == nil {
			return session.Token, nil
		}
		problem, ok := errors.AsType[*client.Problem](err)
		switch {
		case !ok:
			return "", fmt.Errorf("ask for the answer: %w", err)
		case problem.Code == rest.OAuthAuthorizationPending:
		case problem.Code == rest.OAuthSlowDown:
			interval += 5 * time.Second
		default:
			return "", fmt.Errorf("sign in: %w", err)
		}
	}
}
