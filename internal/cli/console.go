package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// console is where a command reads and writes: data goes to stdout, everything else to stderr.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// say tells the user something that is not data.
func (c *console) say(text string, args ...any) {
	fmt.Fprintln(c.stderr, clean(fmt.Sprintf(text, args...)))
}

// shellQuote returns a word as a shell takes it.
func shellQuote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isTerminal says whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// canRedraw says whether lines that are already on a stream can be drawn again. Old Windows consoles print
// the control sequences instead.
func canRedraw(stream any) bool {
	return isTerminal(stream) && os.Getenv("TERM") != "dumb" && runtime.GOOS != "windows"
}

// canColor says whether a stream shows colours and its user wants them (https://no-color.org).
func canColor(stream any) bool {
	return canRedraw(stream) && os.Getenv("NO_COLOR") == ""
}
