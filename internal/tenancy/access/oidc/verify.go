package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
)

// Bounds of what a provider says. Beyond them a user is refused: to leave groups out would change rights unseen.
const (
	maxName    = 200 // bytes
	maxSubject = 255 // OpenID Connect Core 1.0, section 2
	maxGroups  = 500
	maxGroup   = 200 // bytes
	maxDisplay = 128 // characters; what is longer is cut, since it says nothing about rights
	leeway     = 5 * time.Minute
	maxTime    = 1 << 40 // seconds
)

// verify checks an ID token (OpenID Connect Core 1.0, section 3.1.3.7) and reads which user it is about.
func (c *Client) verify(ctx context.Context, i *issuer, p Provider, raw, accessToken, nonce string) (User, error) {
	// The library takes none of the algorithms "none" and HS*, whatever discovery says.
	proved, err := i.Verifier(&gooidc.Config{ClientID: p.ClientID, Now: c.now}).Verify(ctx, raw)
	var expired *gooidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return User{}, p.refuse("the ID token expired at %s; are the clocks right?", expired.Expiry.UTC().Format(time.RFC3339))
	case err != nil:
		return User{}, p.refuse("the ID token is not valid: %s", explain(err))
	}
	claims, err := readClaims(proved)
	if err != nil {
		return User{}, p.refuse("the ID token is not valid: %s", err)
	}
	azp, err := claims.text("azp")
	switch {
	case subtle.ConstantTimeCompare([]byte(proved.Nonce), []byte(nonce)) != 1:
		return User{}, p.refuse("the ID token has another nonce: it was made for another attempt to sign in")
	case err != nil:
		return User{}, p.refuse("the ID token is not valid: %s", err)
	case azp != p.ClientID && (azp != "" || len(proved.Audience) > 1):
		return User{}, p.refuse("the ID token was made for the client %q, by its claim azp, not for %q", brief(azp), p.ClientID)
	case proved.IssuedAt.After(c.now().Add(leeway)):
		return User{}, p.refuse("the ID token was made at %s, which is not yet; are the clocks right?",
			proved.IssuedAt.UTC().Format(time.RFC3339))
	case proved.AccessTokenHash != "" && proved.VerifyAccessToken(accessToken) != nil:
		return User{}, p.refuse("the ID token names another access token, by its claim at_hash")
	}
	user, err := p.user(proved, claims)
	if err != nil {
		return User{}, err
	}
	if user.Proved, err = claims.time("auth_time"); err != nil {
		return User{}, p.refuse("the ID token is not valid: %s", err)
	}
	if user.Proved.After(c.now().Add(leeway)) {
		return User{}, p.refuse("the user signed in at %s, by the claim auth_time, which is not yet; are the clocks right?", user.Proved.UTC().Format(time.RFC3339))
	}
	return user, nil
}

// user reads which user proved claims are about.
func (p Provider) user(proved *gooidc.IDToken, claims claims) (User, error) {
	if proved.Subject == "" || len(proved.Subject) > maxSubject {
		return User{}, p.refuse("the claim sub is missing, empty or longer than %d", maxSubject)
	}
	out := User{Issuer: p.Issuer, Subject: proved.Subject}
	name, err := p.username(claims)
	if err != nil {
		return User{}, p.refuse("%s", err)
	}
	out.Name = p.Name + ":" + name
	groups, err := p.groups(claims)
	if err != nil {
		return User{}, p.refuse("%s", err)
	}
	for _, group := range groups {
		out.Groups = append(out.Groups, p.Name+":"+group)
		out.Admin = out.Admin || slices.Contains(p.AdminGroups, group)
	}
	// These two only describe: what is not right is left out.
	if display, err := claims.text("name"); err == nil && checkWord(display, 4*maxDisplay) == "" {
		out.DisplayName = string([]rune(display)[:min(len([]rune(display)), maxDisplay)])
	}
	if email, err := claims.text("email"); err == nil && claims.verified() && checkWord(email, maxName) == "" {
		out.Email = email
	}
	return out, nil
}

func (p Provider) username(claims claims) (string, error) {
	claim := p.UsernameClaim
	if claim == "" {
		claim = "sub"
	}
	name, err := claims.text(claim)
	if err != nil {
		return "", err
	}
	if problem := checkWord(name, maxName); problem != "" {
		return "", fmt.Errorf("the claim %s, which is the name, %s", claim, problem)
	}
	if claim == "email" && !claims.verified() {
		return "", errors.New("the claim email is the name, and email_verified is not true: any caller may have written it")
	}
	return name, nil
}

// groups are nil when the provider has none to say. A token without the claim is refused: it does not say "none".
func (p Provider) groups(claims claims) ([]string, error) {
	if p.GroupsClaim == "" {
		return nil, nil
	}
	raw, ok := claims[p.GroupsClaim]
	if !ok || string(raw) == "null" {
		return nil, fmt.Errorf("the claim %s, which has the groups, is missing in the ID token; "+
			"is the client allowed to have it, and are there too many groups for a token?", p.GroupsClaim)
	}
	var groups []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		groups = []string{one}
	} else if err := json.Unmarshal(raw, &groups); err != nil {
		return nil, fmt.Errorf("the claim %s, which has the groups, is not a list of texts", p.GroupsClaim)
	}
	if len(groups) > maxGroups {
		return nil, fmt.Errorf("the claim %s has %d groups, more than %d; let the provider name fewer", p.GroupsClaim, len(groups), maxGroups)
	}
	for _, group := range groups {
		if problem := checkWord(group, maxGroup); problem != "" {
			return nil, fmt.Errorf("a group in the claim %s %s", p.GroupsClaim, problem)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups), nil
}

// checkWord says what is wrong with a name. Characters that cannot be seen make one name look like another.
func checkWord(text string, most int) string {
	switch {
	case text == "":
		return "is empty"
	case len(text) > most:
		return fmt.Sprintf("has %d bytes, more than %d", len(text), most)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return "has a character that cannot be printed"
	case strings.TrimSpace(text) != text:
		return "begins or ends with a space"
	}
	return ""
}

// claims are those of an ID token, unread.
type claims map[string]json.RawMessage

func readClaims(proved *gooidc.IDToken) (claims, error) {
	var c claims
	if err := proved.Claims(&c); err != nil || c == nil {
		return nil, errors.New("its claims are not a JSON object")
	}
	return c, nil
}

// text returns a claim that is a text; empty when it is missing.
func (c claims) text(name string) (string, error) {
	raw, ok := c[name]
	if !ok {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("the claim %s is not a text", name)
	}
	return text, nil
}

// time returns a claim that is a time, in seconds; zero when it is missing.
func (c claims) time(name string) (time.Time, error) {
	raw, ok := c[name]
	if !ok || string(raw) == "null" {
		return time.Time{}, nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil || seconds < 0 || seconds > maxTime {
		return time.Time{}, fmt.Errorf("the claim %s is not a time in seconds", name)
	}
	return time.Unix(int64(seconds), 0).UTC(), nil
}

// verified reads email_verified, which some providers write as a text.
func (c claims) verified() bool {
	return string(c["email_verified"]) == "true" || string(c["email_verified"]) == `"true"`
}
