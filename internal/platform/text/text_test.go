package text_test

import (
	"testing"

	"kqueen.io/kqueen/internal/platform/text"
)

func TestLine(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"Plain":      {"Zoë → 北京 🙂", "Zoë → 北京 🙂"},
		"Blanks":     {" a\r\n\tb\u00a0 c\u2028", "a b c"},
		"Controls":   {"a\x00b\x1b[31mc\x7f", "ab[31mc"},
		"Directions": {"a\u202eb\u2066c\u200bd\ufeff", "abcd"},
		"NotUTF8":    {"a\xff\xfeb", "ab"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := text.Line(c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	cases := map[string]struct {
		text           string
		most           int
		bytes, letters string
	}{
		"Empty":   {"", 8, "", ""},
		"Full":    {"12345678", 8, "12345678", "12345678"},
		"Longer":  {"123456789", 8, "12345…", "1234567…"},
		"Letters": {"1234éééé", 8, "1234…", "1234éééé"},
		"Long":    {"ééééééééé", 8, "éé…", "ééééééé…"},
		"Short":   {"abcdef", 3, "…", "ab…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := text.Cut(c.text, c.most); got != c.bytes {
				t.Errorf("bytes: got %q, want %q", got, c.bytes)
			}
			if got := text.CutLetters(c.text, c.most); got != c.letters {
				t.Errorf("letters: got %q, want %q", got, c.letters)
			}
		})
	}
}

func TestCount(t *testing.T) {
	for number, want := range map[int]string{0: "0 machines", 1: "1 machine", 2: "2 machines"} {
		if got := text.Count(number, "machine"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
