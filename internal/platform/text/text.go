// Package text makes text that came from elsewhere fit: into one line, and into a length. And it counts things in words.
//
// It hides where letters begin and what a terminal obeys. Any package may import it.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark says that something was cut off.
const mark = "…"

// Line returns a text as one line that every terminal shows as it is: blanks of all kinds become one blank, and what
// cannot be printed, or turns the direction of text, goes.
func Line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Cut returns at most so many bytes of a text, in whole letters, with a mark at the end when it had more.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := max(most-len(mark), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// CutLetters returns at most so many letters of a text, with a mark in place of the last one when it had more.
func CutLetters(text string, most int) string {
	if most < 1 || utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + mark
}

// Count says how many there are: "1 machine", "2 machines". The plural is the singular with an s.
func Count(number int, singular string) string {
	if number == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %ss", number, singular)
}
