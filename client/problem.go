package client

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"kqueen.io/kqueen/api/rest"
)

// Bounds of what is shown of an answer: it comes from outside and ends up in a terminal.
const (
	longestText   = 1000 // letters
	mostErrors    = 50
	longestPlain  = 200
	mediaProblem  = "application/problem+json"
	headerRequest = "X-Request-ID"
)

// Problem is an answer that says no. It is an error.
type Problem = rest.Problem //nolint:errname // the word of RFC 9457

// FieldError is what is wrong with one part of the input.
type FieldError = rest.FieldError

// problemOf reads an answer that says no. It always has a status; whatever the body is, it is shown only as far as it is
// readable.
func problemOf(status int, header http.Header, body []byte) *Problem {
	p := &Problem{}
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case media == mediaProblem && json.Unmarshal(body, p) == nil:
	case media == "application/json":
		var said rest.OAuthError // an error of the device flow
		if json.Unmarshal(body, &said) == nil {
			p = &Problem{Code: said.Code, Detail: said.Description}
		}
	case media == "text/plain":
		p = &Problem{Detail: cut(string(body), longestPlain)}
	default:
		p = &Problem{}
	}
	p.Status = status
	if p.RequestID == "" {
		p.RequestID = header.Get(headerRequest)
	}
	if len(p.Errors) > mostErrors {
		p.Errors = p.Errors[:mostErrors]
	}
	for _, text := range []*string{&p.Type, &p.Title, &p.Detail, &p.Instance, &p.Code, &p.RequestID} {
		*text = cut(*text, longestText)
	}
	for i := range p.Errors {
		p.Errors[i].Pointer, p.Errors[i].Detail = cut(p.Errors[i].Pointer, longestText), cut(p.Errors[i].Detail, longestText)
	}
	return p
}

// cut returns a text without what would do something to a terminal, of at most so many letters.
func cut(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
