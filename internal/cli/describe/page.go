package describe

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"kqueen.io/kqueen/internal/cli/console"
)

// Page is a page for users: fields, and tables under headings.
type Page struct {
	text strings.Builder
}

// Fields adds lines "name: value", aligned. They come in pairs; a pair with an empty value is left out.
func (p *Page) Fields(indent string, pairs ...string) {
	w := tabwriter.NewWriter(&p.text, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s%s:\t%s\n", indent, pairs[i], console.CleanLine(pairs[i+1]))
		}
	}
	_ = w.Flush() // A strings.Builder takes everything.
}

// Heading begins a part of the page.
func (p *Page) Heading(text string) { fmt.Fprintf(&p.text, "\n%s\n", console.Clean(text)) }

// Block adds lines as they are, indented.
func (p *Page) Block(text string) {
	for line := range strings.Lines(console.Clean(text)) {
		p.text.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
}

// Table adds rows of equally many cells; the first row is the header.
func (p *Page) Table(rows [][]string) {
	w := tabwriter.NewWriter(&p.text, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			cell = console.CleanLine(cell)
			if cell == "" {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
	}
	_ = w.Flush() // A strings.Builder takes everything.
}

// Print prints the page.
func (p *Page) Print(to io.Writer) error {
	_, err := io.WriteString(to, p.text.String())
	return err
}
