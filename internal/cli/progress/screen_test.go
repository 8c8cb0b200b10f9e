package progress

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files")

// covered is in the second cell of a wide character.
const covered = '\x01'

// screen is a terminal, as far as displays use one.
type screen struct {
	columns, lines int
	cells          [][]rune
	row, column    int
}

func newScreen(columns, lines int) *screen {
	s := &screen{columns: columns, lines: lines}
	for range lines {
		s.cells = append(s.cells, make([]rune, columns))
	}
	return s
}

// Write implements io.Writer.
func (s *screen) Write(data []byte) (int, error) {
	text := []rune(string(data))
	for i := 0; i < len(text); i++ {
		switch r := text[i]; r {
		case '\x1b':
			i = s.control(text, i)
		case '\n': // as a terminal's driver has it: to the beginning of the next line
			s.column = 0
			s.down()
		case '\r':
			s.column = 0
		default:
			s.put(r)
		}
	}
	return len(data), nil
}

// control obeys a control sequence, and returns where it ends.
func (s *screen) control(text []rune, from int) int {
	end := from + 2
	for end < len(text) && (text[end] < '@' || text[end] > '~') {
		end++
	}
	n, err := strconv.Atoi(string(text[from+2 : end]))
	if err != nil {
		n = 1
	}
	switch text[end] {
	case 'A':
		s.row = max(s.row-n, 0)
	case 'K':
		clear(s.cells[s.row][s.column:])
	case 'J':
		clear(s.cells[s.row][s.column:])
		for _, line := range s.cells[s.row+1:] {
			clear(line)
		}
	}
	return end
}

func (s *screen) put(r rune) {
	if s.column >= s.columns {
		s.column = 0
		s.down()
	}
	s.cells[s.row][s.column] = r
	if s.column++; displaywidth.Rune(r) > 1 {
		s.cells[s.row][s.column] = covered
		s.column++
	}
}

// down goes to the next line; at the last one everything moves up.
func (s *screen) down() {
	if s.row++; s.row == s.lines {
		s.row--
		s.cells = append(s.cells[1:], make([]rune, s.columns))
	}
}

// String is what the screen shows, in a frame.
func (s *screen) String() string {
	edge := "+" + strings.Repeat("-", s.columns) + "+\n"
	var b strings.Builder
	b.WriteString(edge)
	for _, line := range s.cells {
		text := strings.NewReplacer("\x00", " ", string(covered), "").Replace(string(line))
		b.WriteString("|" + text + "|\n")
	}
	b.WriteString(edge)
	return b.String()
}

// TestScreens: what displays look like in terminals of two sizes, and what they print where there is no terminal.
func TestScreens(t *testing.T) {
	for name, scene := range scenes() {
		for _, size := range [][2]int{{80, 24}, {40, 10}} {
			of := fmt.Sprintf("%s-%dx%d", name, size[0], size[1])
			t.Run(of, func(t *testing.T) {
				s := newScreen(size[0], size[1])
				var got strings.Builder
				scene.play(s, func() (int, int) { return size[0], size[1] }, func(at time.Duration) {
					fmt.Fprintf(&got, "after %s\n%s", Seconds(at), s)
				})
				compare(t, of, got.String())
			})
		}
		t.Run(name+"-plain", func(t *testing.T) {
			var got strings.Builder
			scene.play(&got, nil, func(time.Duration) {})
			compare(t, name+"-plain", got.String())
		})
	}
}

// compare compares with a golden file.
func compare(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNarrower: what was drawn before a terminal became narrower is drawn over, too.
func TestNarrower(t *testing.T) {
	start, columns := time.Now(), 60
	p := &Display{start: start, size: func() (int, int) { return columns, 24 }}
	p.frame([]Step{{Name: "Components", Message: strings.Repeat("x", 30)}, {Name: "Ready"}}, start)
	columns = 20
	if up := p.above(columns); up != 4 {
		t.Errorf("goes up %d lines, want 4: the first is three by now", up)
	}
}
