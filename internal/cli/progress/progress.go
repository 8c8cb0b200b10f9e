package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"

	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// Display shows the steps of long work.
//
// On a terminal it keeps one line for each step and draws them again in place. Elsewhere it prints a line
// for each change, which never changes again.
type Display struct {
	out io.Writer
	// size of the terminal in columns and lines; nil when lines cannot be drawn again.
	size  func() (columns, lines int)
	color bool
	start time.Time

	// drawn is how many columns each line of the last frame has.
	drawn []int
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
	if p.size == nil {
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

// print prints a line for each step of which something new is known. What several steps wait for is printed of the first
// alone: Ready repeats the message of what is not.
func (p *Display) print(steps []Step, now time.Time) {
	told := map[string]bool{"": true}
	for _, s := range steps {
		said := s.Message
		switch {
		case s.State == StepDone:
			said = "done"
		case told[said]:
			continue
		default:
			told[said] = true
		}
		if p.printed[s.Name] == said {
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

// Leave starts again below what is drawn, because something else is printed there.
func (p *Display) Leave() { p.drawn = nil }

// frame returns what draws all steps over the last frame.
func (p *Display) frame(steps []Step, now time.Time) string {
	columns, lines := p.size()
	var b strings.Builder
	if up := p.above(columns); up > 0 {
		fmt.Fprintf(&b, cursorUp+"\r", up)
	}
	// The last column stays empty, because terminals differ in what follows a letter there, and the last line is the cursor's.
	rows := layout(steps, p.times(steps, now), columns-1, lines-1)
	p.drawn = p.drawn[:0]
	for _, r := range rows {
		p.drawn = append(p.drawn, displaywidth.String(r.text))
		b.WriteString(p.tinted(r) + eraseLine + "\n")
	}
	b.WriteString(eraseBelow)
	return b.String()
}

// above is how many lines the last frame has by now: in a terminal that has become narrower, its lines are broken.
func (p *Display) above(columns int) int {
	up := 0
	for _, width := range p.drawn {
		up++
		if columns > 0 && width > columns {
			up += (width - 1) / columns
		}
	}
	return up
}

// times has of each step since when it is done, or how long the current one, the first that is not done, takes.
func (p *Display) times(steps []Step, now time.Time) []string {
	out := make([]string, 0, len(steps))
	current := true
	for _, s := range steps {
		elapsed := ""
		switch {
		case s.State != stepPending:
			elapsed = Seconds(p.ended[s.Name].Sub(p.start))
		case current:
			elapsed = Seconds(now.Sub(p.start))
		}
		current = current && s.State == StepDone
		out = append(out, elapsed)
	}
	return out
}

// tinted is a row in the colours of its step.
func (p *Display) tinted(r row) string {
	switch {
	case !p.color || r.tint == "":
		return r.text
	case r.tint == faint:
		return r.tint + r.text + plain
	}
	return r.tint + r.mark + plain + strings.TrimPrefix(r.text, r.mark)
}

// Seconds returns a duration as a user reads it in a row of others.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// NewDisplay returns what shows steps on a stream, with times since a moment.
func NewDisplay(out io.Writer, since time.Time) *Display {
	p := &Display{out: out, start: since, color: console.CanColor(out)}
	if file, ok := out.(*os.File); ok && console.CanRedraw(file) {
		p.size = func() (int, int) {
			columns, lines, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80, 24
			}
			return columns, lines
		}
	}
	return p
}
