package access

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/oauth2"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/text"
)

// CodeRequest is what a command line asks for when a browser on the same machine signs its user in (RFC 8252).
type CodeRequest struct {
	// RedirectURI is http://127.0.0.1:PORT/PATH or http://[::1]:PORT/PATH.
	RedirectURI string
	// Challenge is BASE64URL(SHA256(verifier)) without padding, and Method "S256" (RFC 7636). Nothing else is taken.
	Challenge, Method string
	// Client is what the session is listed with.
	Client string
}

// codeLife bounds how long a code is good; the browser hands it on at once. RFC 6749, section 4.1.2, allows 10 min.
const codeLife = time.Minute

var (
	challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
	// loopback is what is sent back to a browser, which reads unusual addresses in its own way.
	loopback = regexp.MustCompile(`^http://(127\.0\.0\.1|\[::1\]):[1-9][0-9]{0,4}(/[A-Za-z0-9._~/-]*)?$`)
	verifier = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`) // RFC 7636, section 4.1
)

// Validate says whether a request is one for which a code is made. Errors: *invalid.Error.
func (r CodeRequest) Validate() error {
	if err := checkRedirect(r.RedirectURI); err != nil {
		return err
	}
	if r.Method != "S256" {
		return invalid.Want("codeChallengeMethod", "it is not one that is taken", "S256")
	}
	if !challenge.MatchString(r.Challenge) {
		return invalid.Want("codeChallenge", "it is not what S256 makes", "43 characters of base64url")
	}
	return nil
}

// codeData is what is kept of a code: what was asked for, and when the user of the session that made it proved who they are.
type codeData struct {
	CodeRequest

	Proved int64 `json:"proved"`
}

// Codes let a browser sign in a command line on the same machine.
type Codes struct {
	*store
	credentials *Credentials
}

// Create makes the authorization code that a browser takes to the command line. Errors: ErrNeedsSession,
// ErrNeedsFresh, ErrUnauthenticated, *invalid.Error.
func (s *Codes) Create(ctx context.Context, by Identity, request CodeRequest) (OneTime, error) {
	if err := request.Validate(); err != nil {
		return OneTime{}, err
	}
	request.Client = text.CutLetters(text.Line(request.Client), maxTokenName)
	var out OneTime
	err := s.db.Do(ctx, "", func(tx *sql.Tx) error {
		a, c, err := s.credentials.signedIn(ctx, tx, by)
		if err == nil && !s.credentials.fresh(c) {
			err = ErrNeedsFresh
		}
		if err != nil {
			return err
		}
		data, err := json.Marshal(codeData{request, database.Time(c.proved)})
		if err != nil {
			return err
		}
		out, err = s.makeOnce(ctx, tx, once{purpose: exchangeCode, account: a.name, epoch: a.epoch, data: string(data)}, codeLife)
		return err
	})
	if err != nil {
		return OneTime{}, fmt.Errorf("create an authorization code: %w", err)
	}
	return out, nil
}

// Exchange makes a session of the user who got the code. A code is good for one try. Errors: ErrInvalidGrant.
func (s *Codes) Exchange(ctx context.Context, code, codeVerifier, redirectURI string) (Issued, error) {
	o, err := s.findOnce(ctx, s.db, exchangeCode, code)
	if errors.Is(err, ErrSpent) {
		return Issued{}, ErrInvalidGrant
	}
	if err != nil {
		return Issued{}, err
	}
	var request codeData
	if err := json.Unmarshal([]byte(o.data), &request); err != nil {
		return Issued{}, fmt.Errorf("read an authorization code: %w", err)
	}
	var out Issued
	var answer error // beside the error of the transaction: a code that was tried is used up
	err = s.db.Do(ctx, "", func(tx *sql.Tx) error {
		if err := o.use(ctx, tx); err != nil {
			return err
		}
		if !verifier.MatchString(codeVerifier) || !proves(codeVerifier, request.Challenge) || redirectURI != request.RedirectURI {
			answer = ErrInvalidGrant
			return nil
		}
		a, err := s.credentials.owner(ctx, tx, o.account, o.epoch)
		if err != nil {
			return err
		}
		out, err = s.credentials.issueSession(ctx, tx, a, request.Client, database.FromTime(request.Proved))
		return err
	})
	if errors.Is(err, ErrSpent) {
		err = ErrInvalidGrant
	}
	if err := errors.Join(err, answer); err != nil {
		return Issued{}, err
	}
	return out, nil
}

// proves says whether a challenge was made of a verifier (RFC 7636, section 4.6).
func proves(verifier, challenge string) bool {
	return subtle.ConstantTimeCompare([]byte(oauth2.S256ChallengeFromVerifier(verifier)), []byte(challenge)) == 1
}

// checkRedirect takes what leads to a program on the machine of the browser (RFC 8252, section 7.3), and by an address:
// the name localhost may lead elsewhere (section 8.3).
func checkRedirect(uri string) error {
	refuse := func(problem string) error {
		return invalid.Want("redirectURI", problem, "http://127.0.0.1:PORT/PATH or http://[::1]:PORT/PATH")
	}
	u, err := url.Parse(uri)
	if err != nil || len(uri) > 500 {
		return refuse("it is no URL")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.Scheme != "http" || u.Opaque != "":
		return refuse("its scheme is not http")
	case u.Hostname() != "127.0.0.1" && u.Hostname() != "::1":
		return refuse("it does not lead to this machine's own address")
	case err != nil || port == 0:
		return refuse("it has no port")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return refuse("it has more than an address and a path")
	case !loopback.MatchString(uri):
		return refuse("it has a character that such an address does not need")
	}
	return nil
}
