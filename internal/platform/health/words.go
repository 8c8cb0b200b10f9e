package health

import (
	"fmt"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/text"
)

// longestTrouble keeps a program's last words, which conditions quote, readable: bytes.
const longestTrouble = 400

// longestTroubles is for those of all programs together.
const longestTroubles = 1000

// Trouble says in words how the component last ended or why it does not answer, without times.
func (c Component) Trouble() string {
	words := "does not answer"
	switch {
	case c.State == NotReady && c.Message != "":
		words += ": " + c.Message
	case c.LastExit == nil && c.Message != "":
		words = c.Message
	case c.LastExit == nil:
	case c.LastExit.Error != "":
		words = "could not be started: " + c.LastExit.Error
	case c.LastExit.Hung > 0:
		words = fmt.Sprintf("hung, and was ended: its probe had no answer for %v", c.LastExit.Hung.Round(time.Second))
	case c.LastExit.Signal != "":
		words = "was ended by signal: " + c.LastExit.Signal
	default:
		words = fmt.Sprintf("ended with code %d: %s", c.LastExit.Code, lastLine(c.LastExit.Log))
	}
	if c.State == Starting || c.State == Waiting {
		words += " and is being restarted"
	}
	return text.Cut(strings.Join(strings.Fields(words), " "), longestTrouble)
}

// Judge says in words, without times, why programs that belong together are not ready: which fail, and which are waited
// for. A program fails from its first end that was not asked for until it is ready. Both are empty when all are ready,
// and one is not when they are not. The caller may say more of a program that is waited for; remark may be nil.
func (s Status) Judge(remark func(Component) string) (failing, waiting string) {
	if s.Ready() {
		return "", ""
	}
	var fail, wait []string
	for _, c := range s.Components {
		switch {
		case c.State == Ready:
		case c.LastExit == nil && (c.State == Starting || c.State == Waiting || c.State == Stopping):
			name := c.Name
			if remark != nil {
				name = strings.TrimSpace(name + " " + remark(c))
			}
			wait = append(wait, name)
		default:
			fail = append(fail, c.Name+" "+c.Trouble())
		}
	}
	if len(fail) == 0 && len(wait) == 0 {
		wait = []string{"the programs to start"}
	}
	return text.Cut(strings.Join(fail, "; "), longestTroubles), strings.Join(wait, ", ")
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
