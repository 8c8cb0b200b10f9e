package pages

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/problem"
)

// proofField is the field of a form that shows that the form is ours.
const proofField = "proof"

// newSeed is what a browser's forms are bound to: 128 bits of chance and more.
func newSeed() string { return rand.Text() }

// Proof is what a form has that is sent to path: only the holder of the key can make it, and only for the browser that
// keeps this seed and for this session.
func Proof(key []byte, seed, session, path string) string {
	own := hmac.New(sha256.New, key)
	own.Write([]byte("kqueen.io/forms"))
	mac := hmac.New(sha256.New, own.Sum(nil))
	mac.Write([]byte(seed + "\x00" + session + "\x00" + path))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (v *visit) proof(path string) string {
	return Proof(v.pages.Key, v.seed, v.Identity.Credential.ID, path)
}

// checkForm refuses a form that another site has sent, or another browser or session was given. Three walls, of which
// each would do: the browser's own word, in two headers, and the proof.
func (v *visit) checkForm() error {
	refused := problem.New(http.StatusForbidden, rest.CodeForbidden, "This form was not sent by a page of KQueen. Go back, load the page again, and send it once more.")
	// The standard library takes a form that says nothing of where it comes from, and one by http of the same host.
	if v.r.Header.Get("Origin") != v.Base() || new(http.CrossOriginProtection).Check(v.r) != nil {
		return refused
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return problem.New(http.StatusBadRequest, rest.CodeInvalid, "The form cannot be read.")
	}
	if subtle.ConstantTimeCompare([]byte(v.r.PostForm.Get(proofField)), []byte(v.proof(v.r.URL.Path))) != 1 {
		return refused
	}
	return nil
}
