package console

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// Console is where a command reads and writes: data goes to stdout, everything else to stderr.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Say tells the user something that is not data.
func (c *Console) Say(text string, args ...any) {
	fmt.Fprintln(c.Stderr, Clean(fmt.Sprintf(text, args...)))
}

// ShellQuote returns a word as a shell takes it.
func ShellQuote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// IsTerminal says whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// CanRedraw says whether lines that are already on a stream can be drawn again. Old Windows consoles print
// the control sequences instead.
func CanRedraw(stream any) bool {
	return IsTerminal(stream) && os.Getenv("TERM") != "dumb" && runtime.GOOS != "windows"
}

// CanColor says whether a stream shows colours and its user wants them (https://no-color.org).
func CanColor(stream any) bool {
	return CanRedraw(stream) && os.Getenv("NO_COLOR") == ""
}
