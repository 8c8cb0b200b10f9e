package inventory

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// maxCursor is how long a cursor is at most: a key of the longest names.
const maxCursor = 16 << 10

// encodeCursor says behind which position a page begins. It is bound to the question, not signed: a position is a place in an
// order, and what a query returns behind it is in its scope whatever it is.
func encodeCursor(question []byte, position []string) string {
	raw, err := json.Marshal(position)
	if err != nil {
		return "" // texts can be written
	}
	return base64.RawURLEncoding.EncodeToString(append(bytes.Clone(question), raw...))
}

// decodeCursor is its inverse: so many texts that a database takes; nil where there is no cursor.
func decodeCursor(question []byte, cursor string, parts int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	wrong := invalid.New("cursor", "was not made for this question; want the one that the page before ended with, or none")
	if len(cursor) > maxCursor {
		return nil, wrong
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return nil, wrong
	}
	rest, ok := bytes.CutPrefix(raw, question)
	var position []string
	if !ok || json.Unmarshal(rest, &position) != nil || len(position) != parts {
		return nil, wrong
	}
	for _, part := range position {
		if !utf8.ValidString(part) || strings.Contains(part, "\x00") {
			return nil, wrong
		}
	}
	return position, nil
}

// question names what is asked: pages of different questions have cursors of different ones.
func question(name string, f Filter, more ...any) ([]byte, error) {
	f.Limit, f.Cursor = 0, ""
	raw, err := json.Marshal([]any{name, f, more})
	if err != nil {
		return nil, invalid.New("filter", "has a time that cannot be written; want one of the years 1970 to 9999")
	}
	sum := sha256.Sum256(raw)
	return sum[:12], nil
}
