package cli

import (
	"strings"
	"unicode"
)

// clean returns text from elsewhere as a terminal may show it: without control characters, by which it
// could move the cursor or rename the window, and without marks that reverse the order of letters.
// Line ends stay.
func clean(text string) string {
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

// cleanLine is clean for one line: line ends become spaces.
func cleanLine(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(clean(text), "\n", " "))
}
