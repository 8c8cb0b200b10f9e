package console

import (
	"strings"
	"unicode"
)

// Clean returns text from elsewhere as a terminal may show it: without control characters, by which it
// could move the cursor or rename the window, and without marks that reverse the order of letters.
// Line ends stay.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
}

// CleanLine is clean for one line: line ends become spaces.
func CleanLine(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(Clean(text), "\n", " "))
}
