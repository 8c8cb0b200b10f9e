package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/platform/text"
)

// Display shows the steps of long work.
//
// On a terminal it keeps one line for each step and draws them again in place. Elsewhere it prints a line
// for each change, which never changes again.
type Display struct {
	out io.Writer
	// width of the terminal in columns; nil when lines cannot be drawn again.
	width func() int
	color bool
	start time.Time

	// Drawn is how many lines the last frame has.
	Drawn int
	// printed is what was last said of each step, by its name.
	printed map[string]string
	// ended is when each step was seen done or failed.
	ended map[string]time.Time
}

// Update shows the steps as they are now.
func (p *Display) Update(steps []Step, now time.Time) {
	if p.ended == nil {
		p.printed, p.ended = map[string]string{}, map[string]time.Time{}
	}
	for _, s := range steps {
		if _, known := p.ended[s.Name]; s.State != stepPending && !known {
			p.ended[s.Name] = now
		}
		if s.State == stepPending {
			delete(p.ended, s.Name)
		}
	}
	if p.width == nil {
		p.print(steps, now)
		return
	}
	fmt.Fprint(p.out, p.frame(steps, now))
}

// Redraw shows an object's steps, once there is an object.
func (p *Display) Redraw(object kinds.Conditioned, now time.Time) {
	if object != nil {
		p.Update(stepsOf(object), now)
	}
}

// print prints a line for each step of which something new is known.
func (p *Display) print(steps []Step, now time.Time) {
	for _, s := range steps {
		said := s.Message
		if s.State == StepDone {
			said = "done"
		}
		if said == "" || p.printed[s.Name] == said {
			continue
		}
		p.printed[s.Name] = said
		fmt.Fprintf(p.out, "%5.1fs  %s: %s\n", now.Sub(p.start).Seconds(), s.Name, said)
	}
}

// Control sequences of ECMA-48, which every terminal of today knows.
const (
	cursorUp   = "\x1b[%dA"
	eraseLine  = "\x1b[K"
	eraseBelow = "\x1b[J"
	green      = "\x1b[32m"
	red        = "\x1b[31m"
	faint      = "\x1b[2m"
	plain      = "\x1b[0m"
)

// frame returns what draws all steps over the last frame.
func (p *Display) frame(steps []Step, now time.Time) string {
	var b strings.Builder
	if p.Drawn > 0 {
		fmt.Fprintf(&b, cursorUp+"\r", p.Drawn)
	}
	widest := 0
	for _, s := range steps {
		widest = max(widest, utf8.RuneCountInString(s.Name))
	}
	current := true
	for _, s := range steps {
		b.WriteString(p.line(s, widest, current, now))
		b.WriteString(eraseLine + "\n")
		if s.State != StepDone {
			current = false
		}
	}
	b.WriteString(eraseBelow)
	p.Drawn = len(steps)
	return b.String()
}

// line returns one step: its mark, time and name, and what it waits for. A step has a time once it is
// done, and while it is the current one, the first that is not done.
func (p *Display) line(s Step, widest int, current bool, now time.Time) string {
	mark, tint, elapsed := "…", faint, ""
	if current {
		tint, elapsed = "", Seconds(now.Sub(p.start))
	}
	switch s.State {
	case StepDone:
		mark, tint, elapsed = "✓", green, Seconds(p.ended[s.Name].Sub(p.start))
	case stepFailed:
		mark, tint, elapsed = "✗", red, Seconds(p.ended[s.Name].Sub(p.start))
	}
	line := fmt.Sprintf("%s %7s  %-*s", mark, elapsed, widest, s.Name)
	if s.Message != "" {
		line += "  " + s.Message
	}
	// One that wraps could not be drawn again in place.
	line = text.CutLetters(strings.TrimRight(line, " "), p.width()-1)
	if !p.color || tint == "" {
		return line
	}
	if s.State == stepPending {
		return tint + line + plain
	}
	return tint + mark + plain + strings.TrimPrefix(line, mark)
}

// Seconds returns a duration as a user reads it in a row of others.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// NewDisplay returns what shows steps on a stream, with times since a moment.
func NewDisplay(out io.Writer, since time.Time) *Display {
	p := &Display{out: out, start: since, color: console.CanColor(out)}
	if file, ok := out.(*os.File); ok && console.CanRedraw(file) {
		p.width = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80
			}
			return width
		}
	}
	return p
}
