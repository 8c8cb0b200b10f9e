package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"

	"kqueen.io/kqueen/api/rest"
)

// proofField is the field of a form that shows that the form is ours.
const proofField = "proof"

// newSeed is what a browser's forms are bound to: 128 bits of chance and more.
func newSeed() string { return rand.Text() }

// proof is what a form has that is sent to path: only we can make it, and only for this browser and this session.
func (v *visit) proof(path string) string {
	key := hmac.New(sha256.New, v.server.Key)
	key.Write([]byte("kqueen.io/forms"))
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write([]byte(v.seed + "\x00" + v.identity.Credential.ID + "\x00" + path))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// checkForm refuses a form that another site has sent, or another browser or session was given. Three walls, of which
// each would do: the browser's own word, in two headers, and the proof.
func (v *visit) checkForm() error {
	refused := newProblem(http.StatusForbidden, rest.CodeForbidden, "This form was not sent by a page of KQueen. Go back, load the page again, and send it once more.")
	if v.r.Header.Get("Origin") != v.base() {
		return refused
	}
	if site := v.r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return refused
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return newProblem(http.StatusBadRequest, rest.CodeInvalid, "The form cannot be read.")
	}
	if subtle.ConstantTimeCompare([]byte(v.r.PostForm.Get(proofField)), []byte(v.proof(v.r.URL.Path))) != 1 {
		return refused
	}
	return nil
}
