package oidc

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// discoveryLife is how long what an issuer says about itself is believed. Keys are asked for again as soon as a
	// token names one that is not known.
	discoveryLife = time.Hour
	// maxIssuers bounds the cache; all is asked for again when it is full.
	maxIssuers = 64
)

// Client speaks to issuers. It is safe for concurrent use.
type Client struct {
	now      func() time.Time
	deadline time.Duration

	mu      sync.Mutex
	issuers map[issuerKey]*issuer
}

// issuerKey is what an answer depends on.
type issuerKey struct {
	url string
	ca  [sha256.Size]byte
}

// issuer is what one said about itself.
type issuer struct {
	*gooidc.Provider

	http  *http.Client
	since time.Time
	// inHeader is how the client's secret is shown at the token endpoint.
	inHeader bool
	// namesItself says that the issuer stands in what the browser brings back (RFC 9207).
	namesItself bool
}

// NewClient makes a client. deadline bounds each call.
func NewClient(now func() time.Time, deadline time.Duration) *Client {
	return &Client{now: now, deadline: deadline, issuers: map[issuerKey]*issuer{}}
}

// Secrets are what one attempt to sign in is known by. State goes through the provider, Nonce into the token, and
// Verifier is shown at the end (RFC 7636). All three are made anew for each attempt, of 256 bits of chance.
type Secrets struct{ State, Nonce, Verifier string }

// Begin returns where to send the browser. With a maxAge the provider is to ask who the user is when that was longer ago, and
// to say when it was (OpenID Connect Core 1.0, section 3.1.2.1). Errors: *RefusedError; that of Validate.
func (c *Client) Begin(ctx context.Context, p Provider, secrets Secrets, maxAge time.Duration) (string, error) {
	i, err := c.issuer(ctx, p)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{gooidc.Nonce(secrets.Nonce), oauth2.S256ChallengeOption(secrets.Verifier)}
	if maxAge > 0 {
		options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(maxAge.Seconds()))))
	}
	return i.oauth(p).AuthCodeURL(secrets.State, options...), nil
}

// Check asks the issuer anew what it says about itself, and remembers it. Errors: *RefusedError; that of Validate.
func (c *Client) Check(ctx context.Context, p Provider) error {
	if err := p.Validate(); err != nil {
		return err
	}
	_, err := c.learn(ctx, p)
	return err
}

// Callback is the query with which a browser comes back: state, code, error, error_description and iss.
type Callback struct{ State, Code, Error, ErrorDescription, Issuer string }

// Finish returns the user who came back. Whether State is right, and not used before, is for the caller to know. Errors:
// *RefusedError; that of Validate.
func (c *Client) Finish(ctx context.Context, p Provider, callback Callback, secrets Secrets) (User, error) {
	i, err := c.issuer(ctx, p)
	if err != nil {
		return User{}, err
	}
	hide := strings.NewReplacer(hidden(p.ClientSecret.Reveal(), callback.Code, secrets.State, secrets.Nonce, secrets.Verifier)...)
	switch {
	case callback.Issuer != p.Issuer && (callback.Issuer != "" || i.namesItself):
		return User{}, p.refuse("the browser came back from %q, not from %q; an attacker may have mixed providers up",
			brief(hide.Replace(callback.Issuer)), p.Issuer)
	case callback.Error != "":
		return User{}, p.refuse("the provider says %q: %s",
			brief(hide.Replace(callback.Error)), brief(hide.Replace(callback.ErrorDescription)))
	case callback.Code == "" || len(callback.Code) > 4096:
		return User{}, p.refuse("the browser passed no authorization code that can be used")
	}
	raw, accessToken, err := i.exchange(ctx, p, callback.Code, secrets.Verifier, hide)
	if err != nil {
		return User{}, err
	}
	return c.verify(ctx, i, p, raw, accessToken, secrets.Nonce)
}

// exchange turns the code into an ID token.
func (i *issuer) exchange(
	ctx context.Context, p Provider, code, verifier string, hide *strings.Replacer,
) (raw, accessToken string, err error) {
	answer, err := i.oauth(p).Exchange(gooidc.ClientContext(ctx, i.http), code, oauth2.VerifierOption(verifier))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused):
		// The body may repeat what was sent.
		return "", "", p.refuse("the token endpoint answered with status %d and %q: %s", refused.Response.StatusCode,
			brief(hide.Replace(refused.ErrorCode)), brief(hide.Replace(refused.ErrorDescription)))
	case err != nil:
		return "", "", p.refuse("the token endpoint: %s", hide.Replace(explain(err)))
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok || raw == "" {
		return "", "", p.refuse("the token endpoint gave no ID token; is the scope openid allowed for this client?")
	}
	return raw, answer.AccessToken, nil
}

func (i *issuer) oauth(p Provider) *oauth2.Config {
	endpoint := i.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	if i.inHeader && p.ClientSecret != "" {
		endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret.Reveal(), Endpoint: endpoint, RedirectURL: p.RedirectURL, Scopes: p.scopes(),
	}
}

// issuer returns what the issuer says about itself, from the cache when that is fresh.
func (c *Client) issuer(ctx context.Context, p Provider) (*issuer, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if known := c.known(keyOf(p)); known != nil {
		return known, nil
	}
	return c.learn(ctx, p)
}

func keyOf(p Provider) issuerKey { return issuerKey{url: p.Issuer, ca: sha256.Sum256([]byte(p.CA))} }

// learn asks the issuer and remembers what it says.
func (c *Client) learn(ctx context.Context, p Provider) (*issuer, error) {
	found, err := c.discover(ctx, p)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.issuers) >= maxIssuers {
		clear(c.issuers)
	}
	c.issuers[keyOf(p)] = found
	return found, nil
}

func (c *Client) known(key issuerKey) *issuer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.issuers[key]; i != nil && c.now().Sub(i.since) < discoveryLife {
		return i
	}
	return nil
}

// discover asks the issuer (OpenID Connect Discovery 1.0, section 4).
func (c *Client) discover(ctx context.Context, p Provider) (*issuer, error) {
	roots, err := p.roots()
	if err != nil {
		return nil, err
	}
	client := newHTTP(roots, c.deadline)
	asked, err := gooidc.NewProvider(gooidc.ClientContext(ctx, client), p.Issuer)
	var other *gooidc.IssuerMismatchError
	switch {
	case errors.As(err, &other):
		return nil, p.refuse("the issuer calls itself %q, not %q; the field issuer must be the same to the character",
			brief(other.Discovered), p.Issuer)
	case err != nil:
		return nil, p.refuse("discovery at %s: %s", p.Issuer, explain(err))
	}
	var document struct {
		JWKS        string   `json:"jwks_uri"`
		Methods     []string `json:"token_endpoint_auth_methods_supported"`
		NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := asked.Claims(&document); err != nil {
		return nil, p.refuse("discovery at %s: its answer is not a discovery document", p.Issuer)
	}
	for name, address := range map[string]string{
		"authorization_endpoint": asked.Endpoint().AuthURL, "token_endpoint": asked.Endpoint().TokenURL, "jwks_uri": document.JWKS,
	} {
		if !strings.HasPrefix(address, "https://") {
			return nil, p.refuse("discovery at %s: %s is not an https address", p.Issuer, name)
		}
	}
	return &issuer{
		Provider: asked, http: client, since: c.now(), namesItself: document.NamesItself,
		// Without a list it is client_secret_basic (OpenID Connect Discovery 1.0, section 3).
		inHeader: document.Methods == nil || slices.Contains(document.Methods, "client_secret_basic"),
	}, nil
}

// hidden pairs each secret with what stands for it.
func hidden(secrets ...string) []string {
	var out []string
	for _, secret := range secrets {
		if secret != "" {
			out = append(out, secret, "***")
		}
	}
	return out
}
