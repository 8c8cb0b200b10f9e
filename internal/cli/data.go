package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

// dataFormats are the formats of what is no object of the admin plane.
var dataFormats = []string{"table", "json", "yaml"}

// namedFormats are those of what has names that other commands take.
var namedFormats = []string{"table", "json", "yaml", "name"}

// printNamed is printData for what can also be printed as NOUN/NAME, of which the name is the first cell of a row.
func (c *console) printNamed(format, noun string, data any, rows [][]string) error {
	if format != "name" {
		return c.printData(format, data, rows)
	}
	for _, row := range rows[1:] {
		if _, err := fmt.Fprintln(c.stdout, noun+"/"+cleanLine(row[0])); err != nil {
			return err
		}
	}
	return nil
}

// printData prints data for programs, or rows for people; the first row is the header.
func (c *console) printData(format string, data any, rows [][]string) error {
	if done, err := c.printForPrograms(format, data); done || err != nil {
		return err
	}
	if len(rows) < 2 {
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			if cell = cleanLine(cell); cell == "" {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// printForPrograms prints data unless the format is for people.
func (c *console) printForPrograms(format string, data any) (bool, error) {
	switch format {
	case "", "table":
		return false, nil
	case "json":
		encoder := json.NewEncoder(c.stdout)
		encoder.SetIndent("", "  ")
		return true, encoder.Encode(data)
	case "yaml":
		text, err := yaml.Marshal(data)
		if err != nil {
			return true, fmt.Errorf("encode the data: %w", err)
		}
		_, err = c.stdout.Write(text)
		return true, err
	}
	return true, fail(codeUsage, "--output: %q is no format; choose one of %s", format, strings.Join(dataFormats, ", "))
}

// elapsed is how long ago something was, for people; empty when it never was.
func elapsed(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(*t))
}

// when is a moment for people.
func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// yesNo is for people.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
