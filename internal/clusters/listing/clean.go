package listing

import "kqueen.io/kqueen/internal/platform/text"

// Clean returns a text of a cluster as it is kept and shown: in one line, printable, and cut after so many bytes.
func Clean(s string, most int) string {
	if len(s) > 4*most {
		s = s[:4*most] // what is cut off anyway is not looked at
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return text.Cut(text.Line(s), most)
		}
	}
	return text.Cut(s, most)
}
