// Package issuer signs the short-lived tokens with which users enter the
// clusters that KQueen hosts, and publishes the keys by which the clusters' API
// servers check them.
//
// It hides what a token looks like, which key signs and when keys change. It
// knows no server: Handler is for the caller's. It knows no file either: the
// keys come in and go out as bytes, which are secret. Package app calls New and
// Renew, the handlers that issue credentials call Sign.
package issuer

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config is what an issuer is made of. All fields are required.
type Config struct {
	// URL names the issuer in every token: "https://issuer.kqueen.internal". API servers compare it and call it
	// never, so nothing has to answer there. It must stay the same: with another one, no token is taken any more.
	URL string
	// Base is the URL under which Handler is really reached, without a slash at its end: "https://192.0.2.1:8443/issuer".
	Base string
	// Now tells the time that tokens carry and by which keys change.
	Now func() time.Time
}

// Issuer signs tokens. Make it with New, and call Renew before anything else. It is safe for concurrent use.
type Issuer struct {
	url, base string
	now       func() time.Time
	keys      atomic.Pointer[keySet]
}

// New returns an issuer that has no keys yet. The error names the field that is wrong.
func New(c Config) (*Issuer, error) {
	for field, value := range map[string]string{"url": c.URL, "base": c.Base} {
		if err := checkURL(value); err != nil {
			return nil, fmt.Errorf("issuer: %s: %w", field, err)
		}
	}
	return &Issuer{url: c.URL, base: c.Base, now: c.Now}, nil
}

// URL is the name of the issuer, which is in every token.
func (i *Issuer) URL() string { return i.url }

// DiscoveryURL is where an API server finds the issuer's keys: the discoveryURL of its configuration.
func (i *Issuer) DiscoveryURL() string { return i.base + pathDiscovery }

// Renew makes the keys what they have to be now, and uses them. stored is what write was given last, or nothing.
// It calls write when something has changed, and before that is used, so that no token is ever signed with a
// key that a crash loses. Call it at the start and again at the time that it returns, and by one process
// at a time; other replicas call it with the bytes that the first one wrote, within [RenewalSpread].
func (i *Issuer) Renew(stored []byte, write func([]byte) error) (time.Time, error) {
	keys, err := decode(stored)
	if err != nil {
		return time.Time{}, err
	}
	now := i.now()
	next, changed, err := keys.renew(now)
	if err != nil {
		return time.Time{}, err
	}
	if changed {
		data, err := next.encode()
		if err != nil {
			return time.Time{}, err
		}
		if err := write(data); err != nil {
			return time.Time{}, fmt.Errorf("write the keys of the issuer: %w", err)
		}
	}
	i.keys.Store(&next)
	return plan(next.lives(), now).next, nil
}

// checkURL refuses what an API server would refuse as the URL of an issuer.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(text, "/") {
		return fmt.Errorf("%q: must be a URL such as https://issuer.kqueen.internal, without user, query, fragment and slash at its end", text)
	}
	return nil
}
