package inventory

import (
	"fmt"
	"strings"
	"time"
)

// What was so at a time in the past is found by classes of how long rows are valid: a row of a class whose rows last less than
// its width and that is valid at T began within that width before T. An index by class and begin has few rows there that
// ended before T; one by begin alone has all of history.

// widths are those of the classes, in microseconds: a minute, and eight times as much each.
var widths = func() []int64 {
	out := []int64{time.Minute.Microseconds()}
	for range 7 {
		out = append(out, 8*out[len(out)-1])
	}
	return out
}()

// openSpan is the class of rows without an end, and of those that last longer than every width.
const openSpan = 9

// span is the class of a row.
func span(from, to int64) int {
	if to == open {
		return openSpan
	}
	for class, width := range widths {
		if to-from < width {
			return class
		}
	}
	return len(widths)
}

// spanTable is a table of the classes and their widths.
func spanTable() string {
	var out strings.Builder
	for class, width := range widths {
		if class == 0 {
			fmt.Fprintf(&out, "(SELECT %d AS span, CAST(%d AS BIGINT) AS width", class, width)
		} else {
			fmt.Fprintf(&out, " UNION ALL SELECT %d, %d", class, width)
		}
	}
	// Longer ones, and those without an end: all that began before.
	fmt.Fprintf(&out, " UNION ALL SELECT %d, %s UNION ALL SELECT %d, %s) p", len(widths), openSQL, openSpan, openSQL)
	return out.String()
}
