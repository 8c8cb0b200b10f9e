package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/cli/exit"
)

// DataFormats are the formats of what is no object.
var DataFormats = []string{"table", "json", "yaml"}

// NamedFormats are those of what has names that other commands take.
var NamedFormats = []string{"table", "json", "yaml", "name"}

// PrintNamed is PrintData for what can also be printed as KIND/NAME, of which the name is the first cell of a row.
func (c *Console) PrintNamed(format, kind string, data any, rows [][]string) error {
	if format != "name" {
		return c.PrintData(format, data, rows)
	}
	for _, row := range rows[1:] {
		if _, err := fmt.Fprintln(c.Stdout, kind+"/"+CleanLine(row[0])); err != nil {
			return err
		}
	}
	return nil
}

// PrintData prints data for programs, or rows for the user; the first row is the header.
func (c *Console) PrintData(format string, data any, rows [][]string) error {
	if done, err := c.PrintForPrograms(format, data); done || err != nil {
		return err
	}
	if len(rows) < 2 {
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			if cell = CleanLine(cell); cell == "" {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// PrintForPrograms prints data unless the format is for the user to read.
func (c *Console) PrintForPrograms(format string, data any) (bool, error) {
	switch format {
	case "", "table":
		return false, nil
	case "json":
		encoder := json.NewEncoder(c.Stdout)
		encoder.SetIndent("", "  ")
		return true, encoder.Encode(data)
	case "yaml":
		text, err := yaml.Marshal(data)
		if err != nil {
			return true, fmt.Errorf("encode the data: %w", err)
		}
		_, err = c.Stdout.Write(text)
		return true, err
	}
	return true, exit.Fail(exit.Usage, "--output: %q is not a format; choose one of %s", format, strings.Join(DataFormats, ", "))
}

// Elapsed is how long ago something was, in words; empty when it never was.
func Elapsed(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(*t))
}

// When is a moment as the user reads it.
func When(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// YesNo is for tables.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
