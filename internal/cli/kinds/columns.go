package kinds

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/cli/console"
)

// customColumns are the columns of a table that the user wants, as kubectl has them.
type customColumns struct {
	headers []string
	paths   []*Path
	// headed says that the header is printed or not wanted.
	headed bool
}

// parseColumns reads HEADER:PATH,HEADER:PATH.
func parseColumns(text string) (*customColumns, error) {
	c := &customColumns{}
	for _, part := range splitColumns(text) {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, fmt.Errorf("%q has to be HEADER:PATH,HEADER:PATH, such as NAME:.metadata.name,VERSION:.spec.version", text)
		}
		parsed, err := ParsePath(path)
		if err != nil {
			return nil, fmt.Errorf("read the path %q: %w", path, err)
		}
		c.headers, c.paths = append(c.headers, header), append(c.paths, parsed)
	}
	if len(c.paths) == 0 {
		return nil, errors.New("it names no column; write HEADER:PATH,HEADER:PATH")
	}
	return c, nil
}

// splitColumns splits at commas that are not within brackets. It is pure.
func splitColumns(text string) []string {
	depth := 0
	return strings.FieldsFunc(text+",", func(r rune) bool {
		switch r {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		}
		return r == ',' && depth <= 0
	})
}

// print prints rows; the header comes with the first ones.
func (c *customColumns) print(objects []client.Object, to io.Writer) error {
	w := printers.GetNewTabWriter(to)
	if !c.headed {
		c.headed = true
		fmt.Fprintln(w, strings.Join(c.headers, "\t"))
	}
	for _, o := range objects {
		cells := make([]string, 0, len(c.paths))
		for _, path := range c.paths {
			var words []string
			for _, value := range path.Values(o) {
				words = append(words, fmt.Sprint(value))
			}
			if len(words) == 0 {
				words = []string{"<none>"}
			}
			cells = append(cells, console.CleanLine(strings.Join(words, ",")))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}
