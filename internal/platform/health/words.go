package health

import (
	"fmt"
	"strings"
)

// longestTrouble keeps a program's last words, which conditions quote, readable: bytes.
const longestTrouble = 400

// Trouble says in words how the component last ended or why it does not answer, without times.
func (c Component) Trouble() string {
	text := "does not answer"
	switch {
	case c.State == NotReady && c.Message != "":
		text += ": " + c.Message
	case c.LastExit == nil && c.Message != "":
		text = c.Message
	case c.LastExit == nil:
	case c.LastExit.Error != "":
		text = "could not be started: " + c.LastExit.Error
	case c.LastExit.Signal != "":
		text = "was ended by signal: " + c.LastExit.Signal
	default:
		text = fmt.Sprintf("ended with code %d: %s", c.LastExit.Code, lastLine(c.LastExit.Log))
	}
	if c.State == Starting || c.State == Waiting {
		text += " and is being restarted"
	}
	return Cut(strings.Join(strings.Fields(text), " "), longestTrouble)
}

// Cut shortens a text to at most so many bytes, not within a letter.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:most], ""))
}

// lastLine returns the last line of a program's log without the head that klog puts before it, such as
// "E0203 04:05:06.000007    4711 run.go:72] ": its time and number differ from one end to the next.
func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	line := lines[len(lines)-1]
	head, rest, found := strings.Cut(line, "] ")
	const severity, monthAndDay = 1, 4
	if found && len(head) > severity+monthAndDay && strings.ContainsRune("IWEF", rune(head[0])) && head[severity+monthAndDay] == ' ' {
		return rest
	}
	return line
}
