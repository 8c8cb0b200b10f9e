package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"kqueen.io/kqueen/internal/platform/text"
)

// progress shows the steps of long work.
//
// On a terminal it keeps one line for each step and draws them again in place. Elsewhere it prints a line
// for each change, which never changes again.
type progress struct {
	out io.Writer
	// width of the terminal in columns; nil when lines cannot be drawn again.
	width func() int
	color bool
	start time.Time

	// drawn is how many lines the last frame has.
	drawn int
	// printed is what was last said of each step, by its name.
	printed map[string]string
	// ended is when each step was seen done or failed.
	ended map[string]time.Time
}

// update shows the steps as they are now.
func (p *progress) update(steps []step, now time.Time) {
	if p.ended == nil {
		p.printed, p.ended = map[string]string{}, map[string]time.Time{}
	}
	for _, s := range steps {
		if _, known := p.ended[s.name]; s.state != stepPending && !known {
			p.ended[s.name] = now
		}
		if s.state == stepPending {
			delete(p.ended, s.name)
		}
	}
	if p.width == nil {
		p.print(steps, now)
		return
	}
	fmt.Fprint(p.out, p.frame(steps, now))
}

// redraw shows an object's steps, once there is an object.
func (p *progress) redraw(object conditioned, now time.Time) {
	if object != nil {
		p.update(stepsOf(object), now)
	}
}

// print prints a line for each step of which something new is known.
func (p *progress) print(steps []step, now time.Time) {
	for _, s := range steps {
		said := s.message
		if s.state == stepDone {
			said = "done"
		}
		if said == "" || p.printed[s.name] == said {
			continue
		}
		p.printed[s.name] = said
		fmt.Fprintf(p.out, "%5.1fs  %s: %s\n", now.Sub(p.start).Seconds(), s.name, said)
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
func (p *progress) frame(steps []step, now time.Time) string {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, cursorUp+"\r", p.drawn)
	}
	widest := 0
	for _, s := range steps {
		widest = max(widest, utf8.RuneCountInString(s.name))
	}
	current := true
	for _, s := range steps {
		b.WriteString(p.line(s, widest, current, now))
		b.WriteString(eraseLine + "\n")
		if s.state != stepDone {
			current = false
		}
	}
	b.WriteString(eraseBelow)
	p.drawn = len(steps)
	return b.String()
}

// line returns one step: its mark, time and name, and what it waits for. A step has a time once it is
// done, and while it is the current one, the first that is not done.
func (p *progress) line(s step, widest int, current bool, now time.Time) string {
	mark, tint, elapsed := "…", faint, ""
	if current {
		tint, elapsed = "", seconds(now.Sub(p.start))
	}
	switch s.state {
	case stepDone:
		mark, tint, elapsed = "✓", green, seconds(p.ended[s.name].Sub(p.start))
	case stepFailed:
		mark, tint, elapsed = "✗", red, seconds(p.ended[s.name].Sub(p.start))
	}
	line := fmt.Sprintf("%s %7s  %-*s", mark, elapsed, widest, s.name)
	if s.message != "" {
		line += "  " + s.message
	}
	// One that wraps could not be drawn again in place.
	line = text.CutLetters(strings.TrimRight(line, " "), p.width()-1)
	if !p.color || tint == "" {
		return line
	}
	if s.state == stepPending {
		return tint + line + plain
	}
	return tint + mark + plain + strings.TrimPrefix(line, mark)
}

// seconds returns a duration as people read it in a row of others.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
