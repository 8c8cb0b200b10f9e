package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// page is a page for people: fields, and tables under headings.
type page struct {
	text strings.Builder
}

// fields adds lines "name: value", aligned. They come in pairs; a pair with an empty value is left out.
func (p *page) fields(indent string, pairs ...string) {
	w := tabwriter.NewWriter(&p.text, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s%s:\t%s\n", indent, pairs[i], cleanLine(pairs[i+1]))
		}
	}
	_ = w.Flush() // A strings.Builder takes everything.
}

// heading begins a part of the page.
func (p *page) heading(text string) { fmt.Fprintf(&p.text, "\n%s\n", clean(text)) }

// block adds lines as they are, indented.
func (p *page) block(text string) {
	for line := range strings.Lines(clean(text)) {
		p.text.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
}

// table adds rows of equally many cells; the first row is the header.
func (p *page) table(rows [][]string) {
	w := tabwriter.NewWriter(&p.text, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			cell = cleanLine(cell)
			if cell == "" {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
	}
	_ = w.Flush() // A strings.Builder takes everything.
}

// print prints the page.
func (p *page) print(to io.Writer) error {
	_, err := io.WriteString(to, p.text.String())
	return err
}
