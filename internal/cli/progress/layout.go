package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"kqueen.io/kqueen/internal/platform/text"
)

// row is one line of a frame.
type row struct {
	// mark and tint say how the step is; both are empty for a line that goes on with the one before.
	mark, tint, text string
}

// mostContinued is how many lines the message of a step may take below it: what helps stands at its end.
const mostContinued = 8

// layout returns the rows of steps in a terminal of so many columns and lines; 0 for any number. The message of the step that
// everything waits for is shown whole as far as there is space, and it stays in sight: where all steps do not fit, those that are
// done and those that come later are counted. times has what to show of each step. It is pure.
func layout(steps []Step, times []string, columns, lines int) []row {
	current := slices.IndexFunc(steps, func(s Step) bool { return s.State != StepDone })
	widest := 0
	for _, s := range steps {
		widest = max(widest, displaywidth.String(s.Name))
	}
	rows := make([][]row, 0, len(steps))
	total := 0
	for i, s := range steps {
		continued := 0
		if i == current {
			continued = mostContinued
			if lines > 0 {
				continued = min(continued, max(lines-3, 0))
			}
		}
		made := stepRows(s, times[i], widest, i == current, columns, continued)
		rows = append(rows, made)
		total += len(made)
	}
	if lines <= 0 || total <= lines {
		return slices.Concat(rows...)
	}
	if current < 0 {
		current = len(steps) - 1
	}
	return window(rows, current, columns, lines)
}

// window keeps of the rows of each step those around the current one, and counts the others.
func window(rows [][]row, current, columns, lines int) []row {
	first, last := current, current+1
	used := func(first, last int) int {
		n := 0
		for _, r := range rows[first:last] {
			n += len(r)
		}
		if first > 0 {
			n++
		}
		if last < len(rows) {
			n++
		}
		return n
	}
	// What comes next tells more than what is done.
	for grown := true; grown; {
		grown = false
		if last < len(rows) && used(first, last+1) <= lines {
			last, grown = last+1, true
		}
		if first > 0 && used(first-1, last) <= lines {
			first, grown = first-1, true
		}
	}
	var out []row
	if first > 0 {
		out = append(out, row{"✓", green, cut("✓ "+text.Count(first, "earlier step"), columns)})
	}
	out = append(out, slices.Concat(rows[first:last]...)...)
	if last < len(rows) {
		out = append(out, row{"…", faint, cut("… "+text.Count(len(rows)-last, "later step"), columns)})
	}
	return out[:min(len(out), lines)]
}

// stepRows returns one step: its mark, time and name, and what it waits for.
func stepRows(s Step, elapsed string, widest int, current bool, columns, continued int) []row {
	r := row{mark: "…", tint: faint}
	switch {
	case s.State == StepDone:
		r.mark, r.tint = "✓", green
	case s.State == stepFailed:
		r.mark, r.tint = "✗", red
	case current:
		r.tint = ""
	}
	head := fmt.Sprintf("%s %7s  %s", r.mark, elapsed, s.Name)
	whole := strings.TrimRight(head+strings.Repeat(" ", widest-displaywidth.String(s.Name))+"  "+s.Message, " ")
	if displaywidth.String(whole) <= columns || columns < 1 || continued < 1 || s.Message == "" {
		r.text = cut(whole, columns)
		return []row{r}
	}
	r.text = cut(head, columns)
	const indent = "    "
	out := []row{r}
	for _, line := range wrapped(s.Message, max(columns-len(indent), 1), continued) {
		out = append(out, row{text: indent + line})
	}
	return out
}

// wrapped breaks a message into at most so many lines of so many columns, at blanks where there are some. A word that is longer
// than a line is broken, too: the end of a name or path tells it from others. It is pure.
func wrapped(message string, columns, most int) []string {
	var out, words []string
	line := ""
	for word := range strings.FieldsSeq(message) {
		words = append(words, pieces(word, columns)...)
	}
	for i, word := range words {
		if line != "" && displaywidth.String(line)+1+displaywidth.String(word) <= columns {
			line += " " + word
			continue
		}
		if line != "" {
			out = append(out, line)
		}
		if len(out) == most {
			out[most-1] = cut(out[most-1]+" "+strings.Join(words[i:], " "), columns)
			return out
		}
		line = cut(word, columns) // a wide character does not fit into one column
	}
	return append(out, line)
}

// pieces breaks a word into parts that are as long as so many columns take, and at least one sign. It is pure.
func pieces(word string, columns int) []string {
	out, used := []string{""}, 0
	for signs := displaywidth.StringGraphemes(word); signs.Next(); {
		if used > 0 && used+signs.Width() > columns {
			out, used = append(out, ""), 0
		}
		out[len(out)-1] += signs.Value()
		used += signs.Width()
	}
	return out
}

// cut returns as much of a line as so many columns take, with a mark where there was more; all of it when the number of
// columns is not known. It is pure.
func cut(line string, columns int) string {
	if columns < 1 {
		return line
	}
	return displaywidth.TruncateString(line, columns, "…")
}
