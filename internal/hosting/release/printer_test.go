package release

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPrinter(t *testing.T) {
	steps := []Step{
		{Name: "count packages"},
		{Name: "build", Elapsed: time.Second, Done: 1, Total: 90, Unit: "packages"},
		{Name: "build", Elapsed: 20 * time.Second, Done: 30, Total: 90, Unit: "packages"},
		{Name: "build", Elapsed: 32 * time.Second, Done: 60, Total: 90, Unit: "packages"},
		{Name: "check", Elapsed: time.Second},
	}
	for name, c := range map[string]struct {
		redraw bool
		want   string
	}{
		"File": {false, `  … thing: count packages   0s
  … thing: build   32s   60/90 packages
  … thing: check   1s
  ✓ thing in /there   0.0s
`},
		"Terminal": {true, `^  … thing: count packages   0s^  … thing: build   1s   1/90 packages` +
			`^  … thing: build   20s   30/90 packages^  … thing: build   32s   60/90 packages^  … thing: check   1s^  ✓ thing in /there   0.0s
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Printer{&out, c.redraw}.show("thing", func(report func(Step)) (string, error) {
				for _, s := range steps {
					report(s)
				}
				return "/there", nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, strings.ReplaceAll(out.String(), "\r\x1b[K", "^")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrinterFails(t *testing.T) {
	err := Printer{Out: &bytes.Buffer{}}.show("thing", func(func(Step)) (string, error) { return "", errors.New("no compiler") })
	if err == nil || err.Error() != "build thing: no compiler" {
		t.Errorf("got %v", err)
	}
}
